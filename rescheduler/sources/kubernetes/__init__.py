"""The cluster as the API server tells it, and its running schedulers."""

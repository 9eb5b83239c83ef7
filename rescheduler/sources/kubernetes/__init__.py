"""The cluster as the API server reports it, and its running schedulers."""

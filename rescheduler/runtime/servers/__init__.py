"""All that listens on a port: pages, probes, metrics, the webhook and the scheduler extender."""

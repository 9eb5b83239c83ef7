"""What we read: Kubernetes, Prometheus, recorded snapshots."""

"""What of Kubernetes is imitated, and which of it a release has changed."""

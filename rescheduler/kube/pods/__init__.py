"""What pods ask for, tolerate and select, as Kubernetes counts it."""

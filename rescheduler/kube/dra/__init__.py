"""Dynamic resource allocation (resource.k8s.io): devices, claims, and the CEL of selectors."""

"""Kubernetes' own rules, each written once: what its components make of its objects."""

"""Kubernetes' own rules: objects, quantities, selectors, taints, pod requests; each rule once."""

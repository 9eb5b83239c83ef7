"""Kubernetes' own rules, each written once: what its components make of its objects.

Docstrings name the upstream source. In which releases it was read, and what they do differently,
stands in tests/drift/imitated.yaml.
"""

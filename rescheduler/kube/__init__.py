"""Kubernetes' own objects and rules: what its components make of pods, nodes, claims and gangs.

Docstrings name the upstream source. In which releases it was read, and what they do differently,
stands in tests/drift/imitated.yaml.
"""

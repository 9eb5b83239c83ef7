"""Policy tests: small clusters in YAML and what must come out."""

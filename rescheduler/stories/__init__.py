"""WHAT OPERATORS EXPECT: small clusters in YAML, and what the policies make of them."""

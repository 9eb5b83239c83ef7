"""What is written: strict YAML with its places, field types, PromQL, problems."""

"""What we want: one file per policy kind, its YAML model and its term."""

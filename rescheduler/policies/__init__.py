"""Policy kinds, one package each: the YAML model and the term; with Limits, readings and files."""

"""Reads clusters, readings, datasets, policy files, recordings and audit trails."""

"""Readings from Prometheus: queries, trust, and what they say of nodes and pods."""

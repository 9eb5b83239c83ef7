"""Readings from Prometheus: queries, trust, and their values by node and pod."""

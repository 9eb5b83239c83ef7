"""Metric back ends as operators run them, each a real program that has the same exporter's page."""

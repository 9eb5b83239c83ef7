"""The service: cycles on a schedule, leadership, health, metrics and their HTTP endpoints."""

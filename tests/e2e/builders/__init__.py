"""Builders of clusters: nodes, workloads, budgets, volumes, and where pods stand."""

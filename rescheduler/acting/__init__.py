"""Carries out a plan: the gates, each eviction, and what became of each move."""

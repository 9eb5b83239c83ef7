"""Improvement at scale: which few of many pods to move, and where to, worked out on arrays.

The published benchmarks (`tests/bench/roadef`, `rasa`, `openb`) run it on the product's own terms
and working copy; plans of clusters do not use it. It proposes many moves that gain together, and a
plan makes a few, each judged by its landing, its budgets and what it gains alone: there the search
(`planning/search`), which asks the scheduler's model first, has not yet been shown to gain by it.
"""

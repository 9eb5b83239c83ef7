"""Annealing on arrays: proposes which few of many pods to move, and where to.

Of a plan whose destinations are chosen it makes a better one where it can (`better`): it proposes
moves that gain together, and the search evaluates each by its landing, budgets and gain before it
counts. The published benchmarks (`tests/bench/roadef`, `rasa`, `openb`) run it on the product's own
terms and working copy.
"""

"""Steering: how replacements are steered to the nodes that a plan chose, by each means."""

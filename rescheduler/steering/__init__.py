"""Steering: sends replacements to the nodes that a plan chose, by a file for each means."""

"""Explanations of pods, nodes and pending pods as text and JSON."""

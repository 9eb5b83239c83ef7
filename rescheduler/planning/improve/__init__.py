"""Improvement at scale: which few of many pods to move, and where to, worked out on arrays."""

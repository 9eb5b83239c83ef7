"""Readings of devices: GPUs and accelerators, and how they sum to nodes and pods."""

"""Readings that operators define, and the presets that they can include by name."""

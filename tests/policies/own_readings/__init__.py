"""Readings that operators define, as documents."""

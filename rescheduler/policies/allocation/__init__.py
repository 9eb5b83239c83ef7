"""Allocation: keep what pods request below targets, and free resources in balance."""

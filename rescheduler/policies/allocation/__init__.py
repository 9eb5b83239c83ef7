"""Allocation: keep what pods request below targets of their nodes, and free resources in balance."""

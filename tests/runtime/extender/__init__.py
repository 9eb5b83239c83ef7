"""Tests of the extender."""

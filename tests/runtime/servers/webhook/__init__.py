"""Tests of what answers about pods that are being made."""

"""Judges of benchmark answers: they read the files themselves and share nothing with the solver."""

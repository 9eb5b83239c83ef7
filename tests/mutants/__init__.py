"""Seeded faults in what decides and guards evictions, each of which a test must find."""

"""The audit trail: its records, and how its lines and files follow on each other."""

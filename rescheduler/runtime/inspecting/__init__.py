"""Reading without acting: checks, explanations, recordings, the audit trail, policy tests."""

"""What `history` shows: cycles and moves of the past, from the audit trail."""

"""Values: snapshot, readings, moves, plans, reason codes, errors, the audit trail."""

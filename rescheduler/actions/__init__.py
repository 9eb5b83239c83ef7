"""Writes: evictions, Events, the ledger, the Lease, steering, Kueue, the audit trail."""

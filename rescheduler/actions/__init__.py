"""What we change: evictions, events, the ledger and the lease."""

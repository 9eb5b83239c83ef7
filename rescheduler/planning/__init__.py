"""What to move: eligibility, disruption, search, budgets and batches make a plan."""

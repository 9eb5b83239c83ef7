"""How much may be moved: budgets, quotas, guards, disruption."""

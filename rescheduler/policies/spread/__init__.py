"""Kind Spread: pods evenly over the domains of a topology."""

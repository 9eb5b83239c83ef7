"""Acting: carries out a plan, move by move, and records what became of each."""

"""How people speak to it: one file per verb."""

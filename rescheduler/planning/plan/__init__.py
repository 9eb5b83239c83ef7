"""From what a search found to the plan that people review."""

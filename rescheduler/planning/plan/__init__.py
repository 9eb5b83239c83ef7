"""From the result of a search to the plan that people review, and its later re-check."""

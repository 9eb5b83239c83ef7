"""Turns the result of a search into the plan that people review, and re-checks that plan later."""

"""Which moves are worth making: the working copy, evaluation and search."""

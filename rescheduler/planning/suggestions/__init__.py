"""What would help most: changes, each tried on the same snapshot by planning again with it."""

"""What must hold before an eviction, as far as it follows from what was read."""

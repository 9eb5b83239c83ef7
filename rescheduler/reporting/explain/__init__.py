"""What `explain` shows."""

"""What is read from others, within a time and a size."""

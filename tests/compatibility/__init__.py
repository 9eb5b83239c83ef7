"""What earlier releases have left: files and objects that every later one must be able to read."""

"""What to show: a plan or an outcome as terminal text, HTML or JSON."""

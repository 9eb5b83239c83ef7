"""What is planned, sent and remembered of moves: values only."""

"""What people look into without acting: checks, explanations, recordings, the trail."""

"""What several policy kinds use."""

"""What is known of a scheduler: its configuration, and the profile that the model follows."""

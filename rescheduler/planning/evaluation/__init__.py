"""What moves would gain and cost on a working copy, and where they would land."""

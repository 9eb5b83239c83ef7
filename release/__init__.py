"""What a release is made of: each part is made, tried, and signed for."""

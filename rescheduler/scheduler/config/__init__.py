"""Configuration of schedulers: what is declared, what they report, and the profile that follows."""

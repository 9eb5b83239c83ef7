"""How metric sources are asked: requests, who we are to them, and what they answer."""

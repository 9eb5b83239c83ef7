"""The search: which moves are worth making, alone, as chains, or together for a gang."""

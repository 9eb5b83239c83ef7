"""Makes a plan from a snapshot: what may move, where it lands, gains and limits."""

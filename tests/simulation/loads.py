"""What pods use over time."""

import math
import random

from tests.simulation.metrics import Load


def load(chance: random.Random) -> Load:
    """How much CPU each pod of a workload uses over time."""
    base = chance.choice([0.1, 0.2, 0.3, 0.5, 0.8])
    match chance.choice(["constant", "constant", "constant", "step", "spike", "oscillating"]):
        case "step":
            at, to = chance.uniform(300, 3000), chance.choice([0.1, 1.0])
            return lambda seconds: base if seconds < at else to
        case "spike":
            at = chance.uniform(0, 3000)
            return lambda seconds: 2.0 if at < seconds < at + 60 else base
        case "oscillating":
            period = chance.choice([120.0, 900.0])
            return lambda seconds: base * (1 + 0.8 * math.sin(seconds * math.tau / period))
    return constant(base)


def constant(value: float) -> Load:
    """Always the same."""
    return lambda _: value

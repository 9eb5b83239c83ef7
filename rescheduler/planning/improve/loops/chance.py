"""Random numbers for loops: splitmix64, as those that Numba has take eight times as long.

Source: G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom Number Generators, 2014.
"""

import numpy as np
import numpy.typing as npt

from rescheduler.planning.improve.loops.jit import compiled

Chance = npt.NDArray[np.uint64]
"""(1,) what the next number follows from."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@compiled
def share(chance: Chance) -> float:
    """A number from 0 up to 1."""
    chance[0] += _STEP
    mixed = chance[0]
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    return float(((mixed ^ (mixed >> _31)) >> _11) * _UNIT)


@compiled
def below(chance: Chance, number: int) -> int:
    """A whole number from 0 up to this one."""
    return min(int(share(chance) * number), number - 1)

"""The random numbers of loops."""

import numpy as np
import pytest

from rescheduler.planning.improve.loops.chance import below, share


def test_they_are_those_of_splitmix64() -> None:
    """From the reference, prng.di.unimi.it/splitmix64.c, begun with 1234567."""
    chance = np.array([1234567], dtype=np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    found = [share(chance) for _ in expected]
    assert found == [(each >> 11) * 2.0**-53 for each in expected]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 1000, 2**31 - 1])
def test_whole_numbers_are_below_the_bound_and_as_often_each(number: int) -> None:
    chance = np.array([7], dtype=np.uint64)
    found = np.array([below(chance, number) for _ in range(4000)])
    assert found.min() >= 0
    assert found.max() < number
    parts = min(number, 7)
    counts = np.bincount(found * parts // number, minlength=parts)
    assert np.abs(counts - 4000 / parts).max() < 5 * np.sqrt(4000)

"""Who is drawn how often."""

import numpy as np

from rescheduler.planning.improve.pool import TIMES, pool_by_savings, weighted_pool


def test_each_is_among_them_as_often_as_it_weighs() -> None:
    pods, weights = np.array([4, 7, 9], dtype=np.int32), np.array([1.0, 3.0, 2.0])
    often = np.bincount(weighted_pool(pods, weights), minlength=10)[pods]
    assert often.tolist() == (weights / weights.mean() * TIMES).tolist()


def test_who_saves_next_to_nothing_is_among_them_too() -> None:
    pods, savings = np.arange(100, dtype=np.int32), np.full(100, 1e-9)
    savings[3] = 50.0
    drawn = pool_by_savings(pods, savings)
    assert set(drawn.tolist()) == set(range(100))
    assert np.count_nonzero(drawn == 3) > 0.8 * len(drawn)
    assert not len(pool_by_savings(pods[:0], savings[:0]))

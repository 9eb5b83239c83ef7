"""Hinges of many pods at once say what those of few say."""

import numpy as np
import pytest

from rescheduler.policies.shared import hinges
from rescheduler.policies.shared.hinges import Hinges


@pytest.mark.parametrize("rows", [1, 7, 1 << 15])
def test_coming_adds_the_same_for_many_as_for_few(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    chance = np.random.default_rng(rows)
    parts = chance.normal(size=(30, 4))
    slack = chance.uniform(0.0, 3.0, size=(9, 4))
    slack[2] = np.inf
    where = chance.integers(-1, 9, size=30).astype(np.int32)
    made = Hinges(parts, slack, where, np.ones(30, dtype=np.bool_))
    pods, nodes = np.arange(30, dtype=np.int32)[::2], np.arange(9, dtype=np.int32)[::-1]
    few = made.arriving(pods, nodes)
    monkeypatch.setattr(hinges, "_FEW", 0)
    monkeypatch.setattr(hinges, "_WIDE", 0)
    monkeypatch.setattr(hinges, "_ROWS", rows)
    assert made.arriving(pods, nodes) == pytest.approx(few, abs=1e-12)
    assert few.max() > 0.1

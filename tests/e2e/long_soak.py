"""2,000 evictions under churn, tight budgets and faults: `make soak-e2e`, about an hour and a half.

Not collected with the suite: its name does not begin with `test_`.
"""

import os
from pathlib import Path
from statistics import median

import pytest

from tests.e2e.crashing import Crashes
from tests.e2e.soaking import MOST_STORED, soak

pytestmark = pytest.mark.e2e

_EACH = 6.0
"""Seconds that an eviction may take on average: one is sent every second, then all are awaited."""


def test_an_hour_of_service_breaks_no_budget_and_grows_no_memory(crashes: Crashes) -> None:
    wanted = int(os.environ.get("EVICTIONS", "2000"))
    found = soak(crashes, wanted, deadline=600 + _EACH * wanted)
    if out := os.environ.get("OUT"):
        Path(out).write_text(found.text() + "\n", encoding="utf-8")

    assert found.evictions >= wanted
    assert found.breaches == []
    assert found.faults
    assert found.stored < MOST_STORED
    for memory in found.memory:
        third = len(memory) // 3
        before, after = median(memory[third : 2 * third]), median(memory[2 * third :])
        assert after < 1.1 * before, f"memory grows: {memory}"

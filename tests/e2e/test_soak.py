"""The service under churn, tight budgets and faults for a minute; `make soak-e2e`: an hour."""

import pytest

from tests.e2e.crashing import Crashes
from tests.e2e.soaking import MOST_STORED, soak

pytestmark = pytest.mark.e2e


def test_a_minute_of_service_breaks_no_budget(crashes: Crashes) -> None:
    found = soak(crashes, evictions=45, deadline=240)

    assert found.evictions >= 45
    assert found.breaches == []
    assert found.changes > 200
    assert found.faults, "nothing was ever spoiled"
    assert found.drained, "nobody else ever evicted anything"
    assert found.stored < MOST_STORED

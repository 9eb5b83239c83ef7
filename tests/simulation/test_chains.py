"""Some of the crash points of chains, for each fault others; `make storms` has more."""

import pytest

from tests.simulation.chains import broken
from tests.simulation.crash_points import AT_EVERY_CALL

STEP = 49


@pytest.mark.long
@pytest.mark.parametrize(("first", "fault"), [(16 * n, f) for n, f in enumerate(AT_EVERY_CALL)])
def test_a_full_cluster_is_repaired_whatever_happens_in_between(first: int, fault: str) -> None:
    assert list(broken(fault, first, STEP)) == []

"""Some of the crash points, for each fault others; `make storms` has more, `make soak` all."""

import pytest

from tests.simulation.crash_points import AT_EVERY_CALL, broken

STEP = 9


@pytest.mark.long
@pytest.mark.parametrize(("first", "fault"), [(3 * n, f) for n, f in enumerate(AT_EVERY_CALL)])
def test_at_every_ninth_call(first: int, fault: str) -> None:
    assert list(broken(fault, first, STEP)) == []


@pytest.mark.long
@pytest.mark.parametrize(("first", "fault"), [(8 * n, f) for n, f in enumerate(AT_EVERY_CALL)])
def test_at_every_27th_call_while_nodes_are_tainted(first: int, fault: str) -> None:
    assert list(broken(fault, first, 3 * STEP, tainting=True)) == []

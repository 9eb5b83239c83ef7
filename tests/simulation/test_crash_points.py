"""Some of the crash points, for each fault others; `make soak` has them all."""

import pytest

from tests.simulation.crash_points import AT_EVERY_CALL, broken

STEP = 4


@pytest.mark.long
@pytest.mark.parametrize(("first", "fault"), list(enumerate(AT_EVERY_CALL)))
def test_at_every_fourth_call(first: int, fault: str) -> None:
    assert list(broken(fault, first, STEP)) == []


@pytest.mark.long
@pytest.mark.parametrize(("first", "fault"), [(4 * n, f) for n, f in enumerate(AT_EVERY_CALL)])
def test_at_every_twelfth_call_while_nodes_are_tainted(first: int, fault: str) -> None:
    assert list(broken(fault, first, 3 * STEP, tainting=True)) == []

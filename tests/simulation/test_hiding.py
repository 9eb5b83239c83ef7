"""The real program goes on while one pod cannot be read whose eviction got no answer."""

from collections import Counter

import pytest

from rescheduler.acting.reconcile import APPLY_DELAY
from tests.simulation.hiding import LOST, turn_odd
from tests.simulation.matrix import sure
from tests.simulation.process import Process
from tests.simulation.scenario import PERIOD, Run, good, simulated


def unanswered(run: Run, fault: str, *, odd: bool) -> str:
    """A run asks for an eviction and ends there, and its pod cannot be read from then on."""
    hidden: list[str] = []

    def weather(process: Process, _phase: str, path: str) -> str | None:
        if hidden or not path.endswith("/eviction"):
            return None
        hidden.append(path.removesuffix("/eviction"))
        if odd:
            turn_odd(process.universe, hidden[0])
        else:
            process.universe.refused.add(hidden[0])
        return fault

    process = run.process()
    process.weather = weather
    process.run()
    assert len(hidden) == 1
    return hidden[0].rsplit("/", 1)[-1]


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("fault", ["killed", "killed after"])
def test_one_pod_that_cannot_be_read_holds_no_run(fault: str, odd: bool) -> None:
    with simulated():
        run = sure(3, Counter(), nodes=5)
        name = unanswered(run, fault, odd=odd)
        cycles = []
        for _ in range(5):
            run.cluster.timeline.advance(max(PERIOD, APPLY_DELAY.total_seconds()))
            cycles.append(run.process().run())
        state = run.universe.state()
    assert state is not None
    first, *_ = [move for move in state.history.moves if move.pod == name]
    done = fault == "killed after"
    assert first.charged == done, "a list, or its metadata, tells of one that is there"
    assert (first.code == LOST) == (done and not odd)
    # Nor does one that was evicted again, and of which nobody can tell whether it is gone.
    assert all(map(good, cycles)), [cycle.error for cycle in cycles]
    assert len(run.ground.evicted) > done or odd, "others are moved"
    assert run.ground.broken == []

"""Killed, or stopped until another one has taken over, at every single call of a cycle."""

from collections import Counter

import pytest

from tests.simulation.faults import FAULTS
from tests.simulation.matrix import sure
from tests.simulation.process import Process
from tests.simulation.scenario import Run, recovered, simulated

SEED = 5


class At:
    """A fault at the nth call of a process, whatever its phase; counts the calls."""

    def __init__(self, number: int, fault: str) -> None:
        self.number = number
        self.fault = fault
        self.calls = 0
        self.path = ""

    def __call__(self, process: Process, phase: str, path: str) -> str | None:
        if process.busy:
            return None
        self.calls += 1
        if self.calls != self.number + 1:
            return None
        self.path = path
        if self.fault.startswith("killed"):
            return self.fault
        return FAULTS[self.fault](process, phase, process.universe.chance)


def play(number: int, fault: str) -> tuple[Run, At]:
    run = sure(SEED, Counter(), nodes=5)
    weather = At(number, fault)
    process = run.process()
    process.weather = weather
    process.run()
    run.cluster.timeline.advance(1.0 if number % 2 else 150.0)
    run.process().run()
    recovered(run)
    return run, weather


def calls_of_a_calm_cycle() -> int:
    run, weather = play(-1, "killed")
    assert run.ground.evicted
    return weather.calls


@pytest.mark.parametrize("fault", ["killed", "killed after", "lease stolen"])
def test_at_every_call(fault: str) -> None:
    with simulated():
        for number in range(calls_of_a_calm_cycle()):
            run, weather = play(number, fault)
            assert run.ground.broken == [], f"{fault} at call {number} ({weather.path})"
            uids = [each.uid for each in run.ground.evicted]
            assert len(set(uids)) == len(uids), f"{fault} at call {number} ({weather.path})"
            assert uids, "the one after it moves on"

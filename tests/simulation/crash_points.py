"""Killed, or stopped until another one has taken over, at every single call of a cycle.

    python -m tests.simulation.crash_points --step 4

The suite has a part of it.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tests.simulation.faults import FAULTS
from tests.simulation.matrix import sure
from tests.simulation.process import Process
from tests.simulation.scenario import Run, recovered, simulated
from tests.simulation.soak import prepare

SEED = 5
AT_EVERY_CALL = ("killed", "killed after", "lease stolen")


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


def play(number: int, fault: str, *, tainting: bool = False) -> tuple[Run, At]:
    run = sure(SEED, Counter(), nodes=5, tainting=tainting)
    weather = At(number, fault)
    process = run.process()
    process.weather = weather
    process.run()
    run.cluster.timeline.advance(1.0 if number % 2 else 150.0)
    run.process().run()
    recovered(run)
    return run, weather


def calls_of_a_calm_cycle(*, tainting: bool = False) -> int:
    run, weather = play(-1, "killed", tainting=tainting)
    assert run.ground.evicted
    assert bool(run.universe.reached["tainted"]) == tainting
    return weather.calls


def broken(fault: str, first: int = 0, step: int = 1, *, tainting: bool = False) -> Iterator[str]:
    """What is wrong after this fault at each call from the first on, in steps.

    tainting: whether replacements are steered by soft taints.
    """
    with simulated():
        for number in range(first, calls_of_a_calm_cycle(tainting=tainting), step):
            run, weather = play(number, fault, tainting=tainting)
            where = f"{fault} at call {number} ({weather.path}){', tainting' * tainting}"
            yield from (f"{where}: {violation}" for violation in run.ground.broken)
            uids = [eviction.uid for eviction in run.ground.evicted]
            if len(set(uids)) < len(uids) or not uids:
                yield f"{where}: evicted {uids}, each once and at least one is right"


def play_all(name: str, *parts: Callable[[str, int, int], Iterable[str]]) -> int:
    """Every fault at every call, or in steps; prints what is broken, and is 1 where something is.

    parts: what is broken after a fault, from a first call on, in steps.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=1)
    step = parser.parse_args().step
    prepare()
    found = [
        violation
        for number, fault in enumerate(AT_EVERY_CALL)
        for part in parts
        for violation in part(fault, number % step, step)
    ]
    sys.stdout.write("".join(f"{violation}\n" for violation in found))
    sys.stdout.write(f"{name}: {len(found)} broken\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(play_all("crash points", broken, partial(broken, tainting=True)))

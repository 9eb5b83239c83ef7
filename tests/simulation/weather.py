"""When which fault comes: in one phase of the fault matrix, or at random."""

import random
from collections.abc import Callable

from tests.simulation.faults import FAULTS
from tests.simulation.kueue import Kueue
from tests.simulation.objects import takes_pods
from tests.simulation.process import Process


class Strike:
    """One fault in one phase of one cycle, at the nth call there and at so many after it."""

    def __init__(
        self, fault: str, phase: str, chance: random.Random, *, nth: int = 0, times: int = 1
    ) -> None:
        self.fault = fault
        self.phase = phase
        self.chance = chance
        self.left = nth
        self.times = times
        self.struck = 0

    def __call__(self, process: Process, phase: str, path: str) -> str | None:
        """The weather of a process."""
        if phase != self.phase or self.struck >= self.times or process.busy:
            return None
        if self.left > 0:
            self.left -= 1
            return None
        self.struck += 1
        process.note(phase, self.fault)
        return FAULTS[self.fault](process, phase, self.chance)


_WEIGHTS = {"evict": 3.0, "wal": 6.0, "watch": 2.0, "report": 2.0, "snap": 0.1}
"""A run has many reads, and few of the requests at which it matters most."""


_AT_EVICTIONS = [
    "reply lost",
    "reply lost",
    "repeated by a proxy",
    "409",
    "429 by a budget",
    "lease stolen",
    "SIGKILL",
] * 3


class Storm:
    """Faults at random: at each call with a small chance, at an eviction with a greater one."""

    def __init__(self, chance: random.Random, rate: float) -> None:
        self.chance = chance
        self.rate = rate

    def __call__(self, process: Process, phase: str, path: str) -> str | None:
        """The weather of a process."""
        weight = 30.0 if takes_pods(path) else _WEIGHTS.get(phase, 1.0)
        if process.busy or self.chance.random() >= self.rate * weight:
            return None
        rows = [row for row, phases in CELLS.items() if phase in phases]
        if takes_pods(path):
            rows += _AT_EVICTIONS
        fault = self.chance.choice(rows)
        process.note(phase, fault)
        return FAULTS[fault](process, phase, self.chance)


class Meddling:
    """A storm in which others may change what Kueue decides by, right before we ask it to stop."""

    def __init__(self, storm: Callable[[Process, str, str], str | None], kueue: Kueue) -> None:
        self.storm = storm
        self.kueue = kueue

    def __call__(self, process: Process, phase: str, path: str) -> str | None:
        """The weather of a process."""
        if "/workloads/" in path and self.kueue.chance.random() < 0.25:
            does = [self.kueue.meddle, self.kueue.arrive, self.kueue.refuse]
            self.kueue.chance.choice(does)()
        return self.storm(process, phase, path)


PHASES = (
    "cfg",
    "lock",
    "state",
    "snap",
    "metric",
    "plan",
    "wal",
    "evict",
    "watch",
    "report",
    "exit",
)
_TABLE = """
connection refused        | .xxxx.xxxxx
hang                      | .xxxx.xxxxx
slow drip                 | ..xxx...x..
truncated                 | ..xxx...x..
reply lost                | .x....xx.xx
repeated by a proxy       | ......xx.x.
401 or 403                | .xxxx.xxxx.
404                       | x.x....xx..
409                       | .x....xx.x.
410                       | ...x....x..
429                       | .x.xx.xxxx.
429 by a budget           | .......x...
500 two budgets           | .......x...
503 or 504                | .xxxx.xxx..
stale read                | ..xx....x..
empty                     | x.xxx......
partial                   | ...xx......
nonsense                  | ....xx.....
old samples               | ....x......
twice                     | ...xxx.....
clock step                | .xx.xx.xx..
SIGKILL                   | .xxxxxxxxxx
SIGTERM and drain         | ...xxxxxxx.
memory cap                | ...xxx...x.
disk full                 | ..x......x.
second instance           | .xx..xxx...
lease stolen              | ...x.xxx...
edit or kill switch       | ...x.xxxx..
pod replaced              | .....xxxx..
budget, scaler or rollout | .....xxxx..
30% NotReady              | ...x.x.xx..
"""
CELLS: dict[str, tuple[str, ...]] = {
    line.partition("|")[0].strip(): tuple(
        phase
        for phase, mark in zip(PHASES, line.partition("|")[2].strip(), strict=True)
        if mark == "x"
    )
    for line in _TABLE.strip().splitlines()
}
"""The fault matrix: in which phases each fault can happen."""

"""How the benchmarks run the planner: a working copy of one policy, and its improvement."""

import argparse
import time
from collections.abc import Iterable, Sequence

from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.compiled import compiled
from rescheduler.planning.improve.improve import Improvement, improve
from rescheduler.planning.improve.rules import Rule
from rescheduler.policies.base import Policy
from tests.bench.bench_published import limits
from tests.planning.improve.compile_loops import compile_loops


class Clock:
    """The share of the time that is spent.

    cpu: whether it is CPU time, to measure on a machine that others use too; that of all runs.
    """

    def __init__(self, seconds: float, *, cpu: bool) -> None:
        self._now = time.process_time if cpu else time.monotonic
        self._begun = self._now()
        self._seconds = seconds
        self.model = 0.0

    def start(self) -> None:
        """Begin: what was spent before, on the model, is told apart."""
        self.model = self.spent()
        self._begun = self._now()

    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._now() - self._begun

    def __call__(self, steps: int) -> float:
        """As a progress: steps do not matter."""
        return self.spent() / self._seconds


def options(parser: argparse.ArgumentParser, seconds: float) -> None:
    """What all benchmarks have in common."""
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--cpu", action="store_true", help="count CPU time, not the wall's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--runs", type=int, default=2, help="of annealing, at once on as many cores"
    )


def improved(
    snapshot: Snapshot,
    policy: Policy,
    moves: int,
    clock: Clock,
    *,
    seed: int = 0,
    runs: int = 1,
    held: Iterable[str] = (),
    rules: Sequence[Rule] = (),
    price: FloatArray | float = 0.0,
) -> Improvement:
    """What the planner finds until the clock has run down.

    Raises:
        TypeError: the policy is nothing that can be improved so.
    """
    compile_loops()
    copy = WorkingCopy(snapshot, [policy], limits(moves), History())
    clock.start()
    placement = compiled(copy, held=held, rules=rules, price=price)
    if isinstance(placement, Problem):
        raise TypeError(placement.message)
    return improve(placement, moves, clock, seed, runs)

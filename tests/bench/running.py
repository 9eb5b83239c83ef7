"""How the benchmarks run the planner: `plan` with chosen destinations, for so many seconds."""

import argparse
import time
from dataclasses import dataclass
from typing import Any

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Shift
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugin import Steer
from tests.planning.random_worlds import FREE

_STEPS = 1_000_000
"""More than the seconds allow."""


class Clock:
    """The share of the time that is spent.

    cpu: whether it is CPU time, to measure on a machine that others use too.
    """

    def __init__(self, seconds: float, *, cpu: bool) -> None:
        self._now = time.process_time if cpu else time.monotonic
        self._begun = self._now()
        self._seconds = seconds
        self.model = 0.0

    def start(self) -> Effort:
        """Begin: what was spent before, on the model, is told apart."""
        self.model = self.spent()
        self._begun = self._now()
        return Effort(_STEPS, lambda: self._share() >= 1.0, lambda: self._share() >= 0.5)

    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._now() - self._begun

    def _share(self) -> float:
        return self.spent() / self._seconds


@dataclass(frozen=True, slots=True)
class Planned:
    """where: (pods,) the nodes where they run after the plan, each where it most likely lands."""

    plan: Plan
    where: IntArray

    @property
    def bound(self) -> float:
        """At least what the cost is after so many moves."""
        [result] = self.plan.policies
        return result.cost.before - (self.plan.search.bound if self.plan.search else 0.0)


def options(parser: argparse.ArgumentParser, seconds: float) -> None:
    """What all benchmarks have in common."""
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--cpu", action="store_true", help="count CPU time, not the wall's")
    parser.add_argument("--seed", type=int, default=0)


def wide(moves: int, *, steered: bool = True) -> Limits:
    """As many moves as that, and nothing else in the way. steered: destinations are required."""
    many: dict[str, Any] = FREE | dict.fromkeys(
        ("movesPerNode", "movesPerNamespace", "movesPerWorkload", "movesPerHour"), "100%"
    )
    many |= {"movesPerCycle": moves, "movesPerDay": "100%", "minReplicas": 1}
    many |= {"margin": 0.0, "gainShare": 0.0}
    if steered:
        many["steering"] = {"by": "AdmissionPolicy", "strength": "Require"}
    return Limits.model_validate(many)


def planned(
    snapshot: Snapshot, policy: Policy, moves: int, clock: Clock, *, seed: int = 0
) -> Planned:
    """What `plan` finds until the clock has run down."""
    outline = Outline(mode="Enforce", seed=seed, tool="", recorded=False)
    policies = policy_set([policy], wide(moves))
    made, _ = plan_and_observations(
        snapshot, policies, History(), FindingHistory(), outline, clock.start
    )
    return Planned(made, _landed(snapshot, made))


def _landed(snapshot: Snapshot, made: Plan) -> IntArray:
    """(pods,) where they run once the scheduler has placed each replacement where it likes best."""
    scheduler, number = SchedulerModel(snapshot), snapshot.node_index
    for move in made.moves:
        pod, steer = snapshot.pod_index[move.pod.uid], None
        if move.steered is not None:
            told, require = move.steered.nodes, move.steered.strength == "Require"
            steer = Steer.to_nodes([number[name] for name in told], len(number), require=require)
        landing = scheduler.landing(pod, steer)
        if len(landing.nodes):
            scheduler.commit(Shift(pod, int(snapshot.pod_node[pod]), int(landing.nodes[0])))
    return scheduler.occupancy.where.copy()

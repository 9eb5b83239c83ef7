"""A run that ended before its evicted pod was seen to go: the next one misses what it took."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rescheduler.acting.run import act
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.limits.guards import active_guards
from rescheduler.planning.limits.holds import Holds, holds_of
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.schedulers import Schedulers
from rescheduler.scheduler.model import SchedulerModel
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Process, Stage, warm

LIMITS = Limits(**WIDE)


@dataclass
class Guarded:
    """The real guards."""

    snapshot: Snapshot
    history: History

    def guards(self) -> Sequence[Problem]:
        return active_guards(self.snapshot, (), LIMITS, self._holds, Schedulers({}))

    def refuse_held(self, move: PlannedMove, /) -> Problem | None:
        return self._holds.refusal(move.pod.namespace, move.owner.controllerKind)

    @property
    def _holds(self) -> Holds:
        eligibility = Eligibility(self.snapshot, LIMITS, self.history)
        return holds_of(
            self.snapshot, eligibility, LIMITS, self.history, SchedulerModel(self.snapshot)
        )

    def check(self, move: PlannedMove, _: Sequence[PastMove], /) -> PlannedMove | Problem:
        return move


def web(stage: Stage, name: str) -> PlannedMove:
    made = [
        stage.world.add_pod(f"{name}-{n}", node, owner=("ReplicaSet", name), app=name)
        for n, node in enumerate(("n1", "n2"))
    ]
    return planned(made[0], batch=1)


def test_an_hour_after_a_run_that_was_stopped_its_pod_is_missed() -> None:
    stage = warm(Stage())
    stage.world.place = lambda _: ""
    first, second = web(stage, "one"), web(stage, "two")
    stopped = Process(stage, "a", limits=LIMITS)

    def stop(_: int, __: str, path: str) -> None:
        if path.endswith("/eviction"):
            stopped.stopped = "a signal"

    stopped.after = stop
    assert act(plan_of(stage.world, [first]), stopped.actor()).moves[0].result == "evicted"
    stage.seconds += 3600
    stage.world.tick()
    actor = replace(Process(stage, "b", limits=LIMITS).actor(), recheck=Guarded)
    outcome = act(plan_of(stage.world, [second]), actor)
    assert outcome.verdict.code == "GRD003"
    assert len(stage.world.accepted) == 1

"""What the tests of pods that cannot be read share: a pod of the namespace `team`, whose eviction
was not answered, and the runs after that."""

from collections.abc import Callable
from typing import Any

import pytest

from rescheduler.acting.reconcile import APPLY_DELAY, hold_lock
from rescheduler.acting.run import act
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome
from rescheduler.policies.limits import Limits
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Killed, Process, Stage, warm

Object = dict[str, Any]
LIMITS = Limits(**WIDE)
LATER = APPLY_DELAY.total_seconds() + 60
TEAM = "/namespaces/team/pods"


def with_team() -> Stage:
    stage = warm(Stage())
    stage.world.put("namespaces", "", "team", {})
    return stage


def web(stage: Stage, name: str = "web-1", **more: Any) -> Object:
    owner, app = ("ReplicaSet", f"rs-{name}"), name.partition("-")[0]
    of_team = {"namespace": "team", "owner": owner, "app": app}
    return stage.world.add_pod(name, "n1", **{**of_team, **more})


def unanswered(stage: Stage, pod: Object, *, applied: bool) -> None:
    """A run asks for the eviction of the pod and is gone, before or after it was carried out."""

    def kill(_: int, __: str, path: str) -> None:
        if "eviction" in path:
            raise Killed

    process = Process(stage, "a", limits=LIMITS, namespaces=("default", "team"))
    setattr(process, "after" if applied else "before", kill)
    with pytest.raises(Killed):
        run(stage, process, pod)


def run(stage: Stage, process: Process, *pods: Object) -> Outcome:
    return act(plan_of(stage.world, [planned(pod) for pod in pods]), process.actor())


def look(stage: Stage, name: str = "b", **more: Any) -> tuple[Process, list[PastMove]]:
    """A run that settles what is left open, and the moves then."""
    process = Process(stage, name, limits=LIMITS, **more)
    with hold_lock(process.actor()) as history:
        return process, history.moves


def stored(stage: Stage) -> list[PastMove]:
    return Process(stage, "").ledger.peek().moves


def told(moves: list[PastMove]) -> list[tuple[str, str, bool]]:
    return [(move.state, move.code, move.charged) for move in moves]


def answering(status: int | str, *named: str) -> Callable[[int, str, str], int | str | None]:
    """Answers this to every read of a path in which one of these texts is."""
    return lambda _, method, path: (
        status if method == "GET" and any(part in path for part in named) else None
    )


ALONE = answering(403, f"{TEAM}/web-1", "metadata.name%3Dweb-1")

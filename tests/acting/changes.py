"""Changes of the cluster between the snapshot and the last reads."""

from collections.abc import Callable
from typing import Any

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PlannedMove
from tests.fakes.manners import stamp
from tests.fakes.moves import plan_of
from tests.fakes.stage import START, Process, Stage
from tests.fakes.world import World

OWNER = ("replicasets", "default", "rs-1")
Change = Callable[[World], object]


def web(stage: Stage, name: str = "web-1", node: str = "n1", rs: str = "rs-1") -> dict[str, Any]:
    return stage.world.add_pod(name, node, owner=("ReplicaSet", rs), app=rs)


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    return act(plan_of(stage.world, moves), (process or Process(stage, "a")).actor())


def after_the_snapshot(stage: Stage, change: Change) -> Process:
    """A process in whose world this changes between the batch's snapshot and the last reads."""
    process = Process(stage, "a")

    def hook(_: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith("/pods/web-1") and not process.dead:
            change(stage.world)

    process.before = hook
    return process


def on(*key: str, **parts: dict[str, Any]) -> Change:
    """Merges into an object's metadata, spec or status."""

    def change(world: World) -> None:
        found = world.objects[key[0], key[1], key[2]]
        for part, fields in parts.items():
            found.setdefault(part, {}).update(fields)

    return change


def gone(*key: str) -> Change:
    return lambda world: world.objects.pop((key[0], key[1], key[2]), None)


BEGUN = {"deletionTimestamp": stamp(START)}
OPT_OUT = {"annotations": {"rescheduler.io/opt-out": "true"}}

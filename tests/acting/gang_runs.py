"""A gang on a stage, and runs that move it."""

from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.policies.limits import Limits
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Process, Stage, warm

GANG = "default/ring (scheduling.x-k8s.io/pod-group)"
ROOM = Limits.model_validate({**WIDE, "movesPerHour": 50, "gangs": "Whole"})


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def gang(stage: Stage, size: int = 3, owner: str = "rs-1", **more: Any) -> list[PlannedMove]:
    """The moves of a gang whose members are all of one ReplicaSet."""
    made = [
        stage.world.add_pod(f"ring-{n}", f"n{n}", owner=("ReplicaSet", owner), app="ring")
        for n in range(size)
    ]
    for manifest in made:
        manifest["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "ring"
    return [planned(manifest, group=GANG, **more) for manifest in made]


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    process = process or Process(stage, "a", limits=ROOM)
    return act(plan_of(stage.world, moves), process.actor())


def evictions(process: Process) -> list[str]:
    return [path for _, path in process.sent if path.endswith("/eviction")]

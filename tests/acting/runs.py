"""Runs of an actor over planned moves, and what they leave in the state."""

from typing import Any

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PlannedMove
from tests.fakes.moves import plan_of
from tests.fakes.stage import Process, Stage


def web(stage: Stage, name: str = "web-1", node: str = "n1", rs: str = "rs-1") -> dict[str, Any]:
    return stage.world.add_pod(name, node, owner=("ReplicaSet", rs), app=rs)


def run(
    stage: Stage, *moves: PlannedMove, process: Process | None = None
) -> tuple[Outcome, Process]:
    process = process or Process(stage, "a")
    return act(plan_of(stage.world, moves), process.actor()), process

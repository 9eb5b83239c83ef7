"""Runs that steer, on a stage."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.actions.steering.steering_format import read
from rescheduler.kube.pods.steered_affinity import PREFERRED, REQUIRED
from rescheduler.model.moves.plan import LandingShare, Outcome, PlannedMove
from rescheduler.model.moves.steering_entry import Steered, SteeringEntry, Strength
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm
from tests.fakes.steering import TABLE_KEY

NODES = ["n5", "n6"]


@pytest.fixture
def stage() -> Stage:
    made = warm(Stage())
    world = made.world
    for number, name in enumerate((*NODES, "n7")):
        world.add_pod(f"there-{number}", name, owner=("ReplicaSet", f"other-{number}"), app="o")
    world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    world.steers = True
    world.place = follows
    return made


def follows(pod: dict[str, Any]) -> str:
    """The scheduler, which goes by the affinity, and to `spare` without one."""
    named = names(pod)
    return named[0] if named else "spare"


def names(pod: dict[str, Any]) -> list[str]:
    node = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    if REQUIRED in node:
        (term,) = node[REQUIRED]["nodeSelectorTerms"]
    elif PREFERRED in node:
        term = node[PREFERRED][0]["preference"]
    else:
        return []
    return list(term["matchExpressions"][0]["values"])


def web(stage: Stage, name: str = "web-1", rs: str = "rs-1", kind: str = "ReplicaSet") -> Any:
    return stage.world.add_pod(name, "n1", owner=(kind, rs), app=rs)


def steered(
    manifest: Any, strength: Strength = "Require", by: str = "AdmissionPolicy", **more: Any
) -> PlannedMove:
    fields: dict[str, Any] = {
        "landing": [LandingShare(node="n5", probability=1.0)],
        "steered": Steered(by=by, strength=strength, nodes=more.pop("nodes", NODES)),
        **more,
    }
    return planned(manifest, **fields)


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    process = process or Process(stage, "a")
    plan = plan_of(stage.world, moves)
    return act(structs.replace(plan, id=f"plan of {process.name}"), process.actor())


def table(stage: Stage) -> list[SteeringEntry]:
    return read(stage.world.objects[TABLE_KEY].get("data") or {})[0]

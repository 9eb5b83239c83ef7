"""Plans for tests of acting, made from a world's pods."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from msgspec import structs

from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import (
    ClusterRef,
    LandingShare,
    MoveResult,
    OwnerRef,
    Plan,
    PlannedMove,
    PodRef,
    Totals,
)
from rescheduler.model.problem import Problem
from tests.fakes.world import World


def planned(manifest: dict[str, Any], *, batch: int = 1, **more: Any) -> PlannedMove:
    """The move of this pod to node `spare`."""
    metadata = manifest["metadata"]
    owner = metadata["ownerReferences"][0]
    fields: dict[str, Any] = {
        "pod": PodRef(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"]),
        "owner": OwnerRef(
            kind=owner["kind"],
            name=owner["name"],
            uid=owner["uid"],
            controllerKind=owner["kind"],
            controllerUid=owner["uid"],
        ),
        "source": manifest["spec"]["nodeName"],
        "landing": [LandingShare(node="spare", probability=0.75)],
        "returns": 0.25,
        "unschedulable": 0.0,
        "gain": 1.0,
        "gains": {"hot": 1.0},
        "disruption": 1.0,
        "batch": batch,
        "reasons": [
            MoveReason(code="UTL001", policy="hot", subject="node n1", finding="it is hot")
        ],
    }
    return PlannedMove(**{**fields, **more})


def became(move: PlannedMove, **more: Any) -> MoveResult:
    """What became of the move: evicted, and its replacement not seen yet."""
    fields = {"result": "evicted", "code": "ACT001", "message": "The pod was evicted.", **more}
    reported = Problem(code=fields.pop("code"), message=fields.pop("message"))
    return structs.replace(MoveResult.from_move(move, fields.pop("result"), reported), **fields)


def plan_of(
    world: World, moves: Iterable[PlannedMove], expires: timedelta = timedelta(minutes=30)
) -> Plan:
    """A plan of these moves, made now for cluster `cluster-1`; it may be applied for so long."""
    now = world.now()
    return Plan(
        id="abc123",
        cluster=ClusterRef(uid="cluster-1"),
        created=now,
        taken=now,
        expires=now + expires,
        totals=Totals(nodes=2, pods=2, candidates=2, moves=1, disruption=1.0),
        policies=[],
        readings=[],
        moves=list(moves),
        refused=[],
    )

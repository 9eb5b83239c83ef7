"""Plans for tests of acting, made from a world's pods."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from rescheduler.model.plan import (
    ClusterRef,
    LandingShare,
    OwnerRef,
    Plan,
    PlannedMove,
    PodRef,
    Totals,
)
from rescheduler.model.problem import Problem
from tests.fakes.world import World


def planned(pod: dict[str, Any], *, batch: int = 1, **more: Any) -> PlannedMove:
    """The move of this pod to node `spare`."""
    metadata = pod["metadata"]
    owner = metadata["ownerReferences"][0]
    move = PlannedMove(
        pod=PodRef(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"]),
        owner=OwnerRef(
            kind=owner["kind"],
            name=owner["name"],
            uid=owner["uid"],
            controllerKind=owner["kind"],
            controllerUid=owner["uid"],
        ),
        source=pod["spec"]["nodeName"],
        landing=[LandingShare(node="spare", probability=0.75)],
        returns=0.25,
        unschedulable=0.0,
        gain=1.0,
        gains={"hot": 1.0},
        disruption=1.0,
        batch=batch,
        reasons=[Problem(code="UTL001", message="n1 is hot")],
    )
    for name, value in more.items():
        setattr(move, name, value)
    return move


def plan_of(world: World, moves: Iterable[PlannedMove]) -> Plan:
    """A plan of these moves, made now for cluster `cluster-1`."""
    now = world.now()
    return Plan(
        id="abc123",
        cluster=ClusterRef(uid="cluster-1"),
        created=now,
        taken=now,
        expires=now + timedelta(minutes=30),
        totals=Totals(nodes=2, pods=2, candidates=2, moves=1, disruption=1.0),
        policies=[],
        readings=[],
        moves=list(moves),
        refused=[],
    )

"""Nodes that are not Ready, and clocks that are apart."""

from dataclasses import replace

import msgspec

from rescheduler.kube.objects import Taint
from tests.planning.world import World


def unready(world: World, count: int) -> None:
    """The last so many nodes are no longer Ready, and have the taint that comes with it."""
    for node in world.snapshot.nodes[-count:]:
        node.spec.taints = [Taint(key="node.kubernetes.io/unreachable", effect="NoSchedule")]
        node.status.conditions = [
            msgspec.structs.replace(condition, status="Unknown")
            for condition in node.status.conditions or []
        ]


def skew(world: World, seconds: float) -> None:
    world.snapshot = replace(world.snapshot, clock_skew=seconds)

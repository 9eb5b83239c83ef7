"""Evaluating moves beside a Pending pod."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from msgspec import structs

from rescheduler.kube.objects import Condition, Pod
from rescheduler.model.moves.plan import Plan
from tests.cluster import NOW, pod
from tests.planning.scenarios import GPU, hot_gpus


def outcome(pending: Pod, *others: Pod, mine: int = 0) -> Plan:
    """The plan while such a pod is Pending and our pods have priority `mine`."""
    world = hot_gpus()
    for pod_object in world.snapshot.pods:
        pod_object.spec.priority = mine
    world.snapshot = replace(world.snapshot, pods=[*world.snapshot.pods, *others, pending])
    world.measure()
    made = world.plan()
    assert bool(made.moves) != ("GRD008" in made.totals.refused)
    return made


def waiting(
    *,
    priority: int = 0,
    gpus: str = "1",
    tried: bool = False,
    age: float = 60.0,
    name: str = "new",
    on: str = "",
    **spec: Any,
) -> Pod:
    """A pod of that many seconds; tried: whether a scheduler says that it finds no node for it."""
    pending = pod(name, on, requests={GPU: gpus, "cpu": "1"}, labels={"app": "new"}, **spec)
    pending.spec.priority = priority
    created = NOW - timedelta(seconds=age)
    said = Condition(type="PodScheduled", status="False", reason="Unschedulable")
    return structs.replace(
        pending,
        metadata=structs.replace(pending.metadata, creationTimestamp=created),
        status=structs.replace(pending.status, conditions=[said] if tried else []),
    )


def codes(mine: int = 0, **pending: Any) -> set[str]:
    """The codes of all refusals while such a pod is Pending."""
    return set(outcome(waiting(**pending), mine=mine).totals.refused)

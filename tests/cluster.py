"""Small clusters for tests, made from Kubernetes' own JSON as real ones are."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import structs

from rescheduler.kube.controllers import Controller, PodDisruptionBudget
from rescheduler.kube.objects import Node, Pod, ResourceRequirements
from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.policytest.object_builders import (
    LONG_AGO,
    NOW,
    READY,
    budget,
    controller,
    deployment,
    namespaces,
    node,
    pod,
)

__all__ = [
    "LONG_AGO",
    "NOW",
    "READY",
    "budget",
    "controller",
    "deployment",
    "like",
    "node",
    "pod",
    "reading",
    "snapshot",
]


def reading(
    name: str,
    values: Iterable[float],
    *,
    capacity: Iterable[float] | None = None,
    age: float = 10.0,
    unit: str = "ratio",
    **request: Any,
) -> Reading:
    """A reading with these values in the order of the snapshot; NaN is absent."""
    array = np.array(list(values), dtype=np.float64)
    return Reading(
        request=ReadingRequest(name, **request),
        unit=unit,
        values=array,
        ages=np.where(np.isnan(array), np.nan, age),
        expected=np.ones(len(array), dtype=np.bool_),
        capacity=None if capacity is None else np.array(list(capacity), dtype=np.float64),
    )


def like(template: Pod, name: str, on: str, requests: dict[str, str] | None = None) -> Pod:
    """A pod that shares with the template what decoded pods of one template share.

    requests: its own, where it has a spec of its own for that; its affinity is then shared, too.
    """
    spec, metadata = template.spec, template.metadata
    if requests is not None:
        own = ResourceRequirements(requests=requests)  # type: ignore[arg-type]
        spec = structs.replace(
            spec, containers=[structs.replace(spec.containers[0], resources=own)]
        )
    uid = f"pod-{metadata.namespace}-{name}"
    return Pod(
        metadata=structs.replace(metadata, name=name, uid=uid),
        spec=spec,
        status=template.status,
        node=on,
    )


def snapshot(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    *,
    controllers: Iterable[Controller] = (),
    budgets: Iterable[PodDisruptionBudget] = (),
    readings: Iterable[Reading] = (),
    **more: Any,
) -> Snapshot:
    """A snapshot of these objects, with a Namespace object for every namespace in use."""
    pods = list(pods)
    return Snapshot(
        taken=NOW,
        cluster=Cluster(uid="cluster-1", version="v1.36.3"),
        nodes=list(nodes),
        pods=pods,
        controllers=list(controllers),
        budgets=list(budgets),
        namespaces=namespaces(pods),
        readings=Readings(tuple(readings)),
        **more,
    )

"""What pods ask for: CPU, memory, and GPUs, whole or in shares of one device."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rescheduler.kube.objects import Container, PodSpec, ResourceRequirements
from rescheduler.kube.quantity import nanos, scaled
from rescheduler.model.readings import IntArray
from rescheduler.model.snapshot import Snapshot

WHOLE = 1000
"""Shares of a device are counted in thousandths of it."""


class Demand(NamedTuple):
    """What a pod asks for: milli-CPU, bytes, whole GPUs, and thousandths of one shared GPU."""

    cpu: int
    memory: int
    gpus: int = 0
    share: int = 0

    @property
    def devices(self) -> float:
        """GPUs that it takes, in whole ones."""
        return self.gpus + self.share / WHOLE


class Devices(NamedTuple):
    """How GPUs are asked for.

    whole: the resource that counts GPUs. shared: that of shares of one, "" where there is none.
    per_gpu: how much of `shared` is one GPU.
    """

    whole: str
    shared: str = ""
    per_gpu: int = WHOLE


def demands(snapshot: Snapshot, devices: Devices) -> tuple[list[Demand], IntArray]:
    """The different demands, and for each pod the number of its own."""
    numbers: dict[Demand, int] = {}
    of_spec = [numbers.setdefault(demand(spec, devices), len(numbers)) for spec in snapshot.specs]
    return list(numbers), np.array(of_spec, dtype=np.int32)[snapshot.pod_spec]


def demand(spec: PodSpec, devices: Devices) -> Demand:
    """What kube-scheduler counts for such a pod.

    The larger of all containers together and of each init container; containers that go on beside
    it (restartPolicy Always) count with both. What is asked of the pod as a whole goes first.
    Source: component-helpers resource.PodRequests, Kubernetes 1.36.
    """
    asked = {
        name: _request(spec, name) for name in ("cpu", "memory", devices.whole, devices.shared)
    }
    share = 0
    if devices.shared:
        share = min(WHOLE, -(-asked[devices.shared] * WHOLE // devices.per_gpu))
    return Demand(asked["cpu"], asked["memory"], asked[devices.whole], share)


def _request(spec: PodSpec, name: str) -> int:
    if not name:
        return 0
    overhead = _amount(spec.overhead, name)
    of_pod = spec.resources.requests if spec.resources else None
    if of_pod and name in of_pod:
        return _amount(of_pod, name) + overhead
    running = _sum(spec.containers, name)
    peak = beside = 0
    for container in spec.initContainers or ():
        if container.restartPolicy == "Always":
            beside += _of(container.resources, name)
            peak = max(peak, beside)
        else:
            peak = max(peak, beside + _of(container.resources, name))
    return max(running + beside, peak) + overhead


def _sum(containers: Iterable[Container], name: str) -> int:
    return sum(_of(container.resources, name) for container in containers)


def _of(resources: ResourceRequirements | None, name: str) -> int:
    return _amount(resources.requests if resources else None, name)


def _amount(resources: dict[str, str | int | float] | None, name: str) -> int:
    quantity = resources.get(name) if resources else None
    return 0 if quantity is None else _parsed(name, quantity)


@lru_cache(maxsize=4096)
def _parsed(name: str, quantity: str | float) -> int:
    return 0 if nanos(quantity) < 0 else scaled(name, quantity)

"""What pods ask for: CPU, memory, and GPUs, whole or in shares of one device."""

from typing import NamedTuple

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.objects import PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests, scheduler_units
from rescheduler.model.cluster.snapshot import Snapshot

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
    """How pods request GPUs.

    whole: the resource that counts GPUs. shared: that of shares of one, "" where there is none.
    per_gpu: how much of `shared` is one GPU.
    """

    whole: str
    shared: str = ""
    per_gpu: int = WHOLE


def demands(snapshot: Snapshot, devices: Devices) -> tuple[list[Demand], IntArray]:
    """The different demands, and for each pod the number of its own."""
    return _demands(snapshot.pod_asking, devices)


def next_demands(snapshot: Snapshot, devices: Devices) -> tuple[list[Demand], IntArray]:
    """As `demands`, of what each pod's replacement asks for."""
    return _demands(snapshot.next_pods.replacement_requests(snapshot.pod_asking), devices)


def _demands(
    asking: tuple[list[PodSpec], IntArray], devices: Devices
) -> tuple[list[Demand], IntArray]:
    numbers: dict[Demand, int] = {}
    specs, of_pod = asking
    places = [numbers.setdefault(demand(spec, devices), len(numbers)) for spec in specs]
    return list(numbers), np.array(places, dtype=np.int32)[of_pod]


def demand(spec: PodSpec, devices: Devices) -> Demand:
    """What kube-scheduler counts for such a pod.

    A part of a unit of the shared resource counts as a whole one.
    """
    requests = pod_requests(spec)
    cpu, memory, gpus, shared = (
        scheduler_units(name, requests.get(name, 0))
        for name in ("cpu", "memory", devices.whole, devices.shared)
    )
    return Demand(cpu, memory, gpus, min(WHOLE, -(-shared * WHOLE // devices.per_gpu)))

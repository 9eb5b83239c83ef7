"""Plugin NodePorts: two pods on one node cannot have one host port."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.kube.pods.containers import long_running
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.profile import Profile

_ANY = "0.0.0.0"  # noqa: S104  (how Kubernetes writes "all addresses of the node")


class HostPort(NamedTuple):
    """A port that a pod takes on its node."""

    address: str
    protocol: str
    port: int

    def clashes(self, other: "HostPort") -> bool:
        """Whether both cannot be on one node; the wildcard address clashes with every address."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.address == other.address or _ANY in (self.address, other.address))
        )


def host_ports(spec: PodSpec) -> Iterator[HostPort]:
    """The host ports of a pod's containers and sidecars."""
    for container in long_running(spec):
        for port in container.ports or ():
            if port.hostPort > 0:
                yield HostPort(port.hostIP or _ANY, port.protocol or "TCP", port.hostPort)


class NodePorts(Plugin):
    """Knows the pods of every host port in use, terminating ones too."""

    name: ClassVar[str] = "NodePorts"
    rejection: ClassVar[str] = "node(s) didn't have free ports for the requested pod ports"

    def __init__(self, pods: Sequence[Pod], occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        by_spec: dict[int, tuple[HostPort, ...]] = {}
        users: dict[HostPort, list[int]] = {}
        for number, pod in enumerate(pods):
            ports = by_spec.get(id(pod.spec))
            if ports is None:
                ports = by_spec[id(pod.spec)] = tuple(host_ports(pod.spec))
            for port in ports:
                users.setdefault(port, []).append(number)
        self._users = {port: np.array(user, dtype=np.int32) for port, user in users.items()}

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """One for all profiles."""
        return handle.part(cls._from_handle)

    @classmethod
    def _from_handle(cls, handle: Handle) -> Self:
        return cls(handle.snapshot.pods, handle.occupancy)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes where all the pod's host ports are free."""
        wanted = set(host_ports(pod.spec))
        clashing = [
            users
            for port, users in self._users.items()
            if any(port.clashes(host_port) for host_port in wanted)
        ]
        return partial(self._free, np.concatenate(clashing)) if clashing else None

    def _free(self, clashing: IntArray) -> BoolArray:
        return ~self._occupancy.nodes_with_pods(clashing, len(self._occupancy.slots))

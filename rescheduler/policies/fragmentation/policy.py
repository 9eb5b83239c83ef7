"""Fragmentation: keep what is left usable, and make room for what waits."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.fields import Strict
from rescheduler.kube.pods.pod_state import pod_priority, to_be_placed
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Subject
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.fragmentation.free_capacity import FreeCapacity
from rescheduler.policies.fragmentation.gang_places import GangPods, gang_places
from rescheduler.policies.fragmentation.other_resources import OtherResources
from rescheduler.policies.fragmentation.pending_gang import PendingGang
from rescheduler.policies.fragmentation.pending_places import PendingShape
from rescheduler.policies.fragmentation.stranded_capacity import Resource, Stranding, tasks
from rescheduler.policies.fragmentation.term import FragmentationTerm
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent_names import absent_resource
from rescheduler.policies.shared.acceptance import Acceptance
from rescheduler.policies.shared.demand import WHOLE, Demand, Devices
from rescheduler.policies.shared.matching import select_nodes, select_pods

_GPU_ALONE: tuple[Resource, ...] = ("gpu",)

_BOUND_TO_NODES = frozenset({"DaemonSet", "Node"})
"""Owners whose pods come with their node: what is left is not for them."""

_REPLICAS = frozenset({"Deployment", "ReplicaSet", "ReplicationController"})
"""Owners of whose pods each serves alone."""


class GpuShares(Strict):
    """How pods ask for a share of one GPU."""

    resource: str = Field(
        min_length=1, description="The resource, such as `alibabacloud.com/gpu-milli`."
    )
    perGpu: int = Field(WHOLE, ge=1, le=10**9, description="How much of it is one GPU.")


class Fragmentation(Policy):
    """Charge 1.0 for every average pod whose worth of capacity is left where no pod could use it.

    Free capacity of a node counts if the pods of the cluster, running or pending, could not use it.
    It is the average over these pods: the fragmentation measure of FGD (USENIX ATC 2023), divided
    by what an average pod requests. If a pod does not fit on the node, all free capacity counts for
    it. If it fits, the GPUs with less free than it requests count. Pods may request whole GPUs or
    shares of one (`sharedGpus`).

    With `room`, each pending pod that is of use alone costs the share that is missing for it: of
    the resource that is missing most, on the nodes where the least is missing. So nodes with nearly
    enough room come first. A gang, known by the labels and annotations of gang schedulers or else
    by its owner, is evaluated as a whole: each of its pods costs 1.0 until there are places for all
    of them at once, no two on the same capacity. So room is made for all of it by one group of
    moves, which are all made or none, or it is not made. Only a Deployment's pods are of use one by
    one. Of other resources that the pods request, only what is free now counts. No room is made for
    pods with ResourceClaims, as their devices are not counted. No pod makes room for one of a lower
    priority than its own.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"resources": {"minItems": 1}}},
                {"properties": {"room": {"type": "object"}}, "required": ["room"]},
            ]
        }
    )

    summary: ClassVar[str] = "Keep free GPUs, CPU and memory usable, and make room for a gang."
    codes: ClassVar[tuple[str, ...]] = ("FRG",)
    subject: ClassVar[Subject] = "nodes"

    kind: Literal["Fragmentation"] = "Fragmentation"
    match: Match = Field(description="The pods that may be moved. What every pod takes counts.")
    nodes: NodeMatch = Field(
        default_factory=lambda: NodeMatch(all=True), description="The nodes to evaluate."
    )
    resources: list[Resource] = Field(
        default_factory=lambda: list(_GPU_ALONE), description="What must not be stranded."
    )
    workloads: Match = Field(
        default_factory=lambda: Match(all=True),
        description="The pods, running or pending, that could use what is left.",
    )
    popularity: Literal["Needing", "All"] = Field(
        "Needing",
        description="Whether only pods that need a resource count for it, or all, as in the paper: "
        "GPUs are then stranded for CPU pods too.",
    )
    room: Match | None = Field(
        None, description="Pending pods to make room for, such as a gang: all of it or nothing."
    )
    gpu: str = Field(
        "nvidia.com/gpu", min_length=1, description="The resource that counts whole GPUs."
    )
    sharedGpus: GpuShares | None = Field(None, description="How pods request shares of a GPU.")

    @model_validator(mode="after")
    def _wants_something(self) -> "Fragmentation":
        if not self.resources and self.room is None:
            raise ValueError("at least one of resources, room is required")
        return self

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """The GPUs that it counts by resources that no node offers."""
        if "gpu" in self.model_fields_set:
            yield from absent_resource("gpu", self.gpu, snapshot)
        if self.sharedGpus is not None:
            yield from absent_resource("sharedGpus.resource", self.sharedGpus.resource, snapshot)

    def compile(self, snapshot: Snapshot) -> FragmentationTerm | Problem:
        """The term; a problem where no pod asks for any of the resources."""
        free_capacity = FreeCapacity(snapshot, self._devices())
        acceptance = Acceptance(snapshot)
        selected = select_nodes(self.nodes, snapshot) & acceptance.usable
        free = _free(snapshot)
        asking = np.flatnonzero(select_pods(self.workloads, snapshot) & free)
        specs, first, counts = np.unique(
            snapshot.pod_spec[asking], return_index=True, return_counts=True
        )
        spec_counts = zip(specs.tolist(), asking[first].tolist(), counts.tolist(), strict=True)
        types = tasks(
            (
                (free_capacity.demand(pod), acceptance.shape(spec), acceptance.nodes(spec), count)
                for spec, pod, count in (
                    (snapshot.specs[i], pod, count) for i, pod, count in spec_counts
                )
            ),
            len(snapshot.nodes),
        )
        stranding = Stranding(types, self.resources, needing=self.popularity == "Needing")
        silent = [resource for resource in self.resources if resource not in stranding.units]
        unasked = Problem("FRG003", f"no pod asks for {', '.join(silent)}")
        if len(silent) == len(self.resources) and self.room is None:
            return unasked
        movable = select_pods(self.match, snapshot) & (snapshot.pod_node >= 0)
        waiting, gangs = self._pending_shapes(
            snapshot, free_capacity, acceptance, selected, movable & free
        )
        return FragmentationTerm(
            snapshot,
            free_capacity,
            stranding,
            selected,
            movable,
            waiting,
            gangs,
            (unasked,) if silent else (),
        )

    def _devices(self) -> Devices:
        if self.sharedGpus is None:
            return Devices(self.gpu)
        return Devices(self.gpu, self.sharedGpus.resource, self.sharedGpus.perGpu)

    def _pending_shapes(
        self,
        snapshot: Snapshot,
        free_capacity: FreeCapacity,
        acceptance: Acceptance,
        selected: BoolArray,
        movable: BoolArray,
    ) -> tuple[list[PendingShape], list[PendingGang]]:
        """The pending pods, by gang and shape; of gangs the highest priority goes first."""
        if self.room is None:
            return [], []
        chosen = select_pods(self.room, snapshot) & _free(snapshot) & (snapshot.pod_node < 0)
        pending = [
            pod for pod in np.flatnonzero(chosen).tolist() if to_be_placed(snapshot.pods[pod])
        ]
        others = OtherResources(snapshot, ("cpu", "memory", *self._devices()[:2]))
        shapes: list[GangPods] = []
        gangs: list[PendingGang] = []
        for number, (pods, together) in enumerate(_gangs(pending, snapshot)):
            alike: dict[tuple[Demand, bytes], list[int]] = {}
            priority = _priority(pods, snapshot)
            for pod in pods:
                spec = snapshot.pods[pod].spec
                other_requests = repr((others.spec_requests(spec), priority))
                accepts = acceptance.shape(spec) + other_requests.encode()
                alike.setdefault((free_capacity.demand(pod), accepts), []).append(pod)
            pod_demands = [free_capacity.demand(pod) for pod in pods]
            gpus = sum(demand.gpus + demand.share / WHOLE for demand in pod_demands)
            gangs.append(PendingGang(_name(pods[0], snapshot, gangs), len(pods), gpus))
            for (demand, accepts), members in alike.items():
                first = snapshot.pods[members[0]]
                accepting = selected & acceptance.nodes(first.spec)
                most = np.where(accepting, others.places(first.spec), 0)
                shapes.append(
                    GangPods(
                        number, demand, len(members), accepts, most, first.key, together, priority
                    )
                )
        places = gang_places(shapes, free_capacity.free_rows(), free_capacity.most_free(movable))
        return places, gangs


def _name(pod: int, snapshot: Snapshot, others: Iterable[PendingGang]) -> str:
    """What people call the gang of this pod: its own name, or that of its owner.

    With its mark or kind where another one is called the same.
    """
    gang, workload = snapshot.gangs.gang_of(pod), int(snapshot.pod_workload[pod])
    if gang is not None:
        name, kind = gang
    elif workload >= 0:
        owner = snapshot.workloads[workload]
        name, kind = f"{owner.namespace}/{owner.name}", owner.kind
    else:
        name, kind = snapshot.pods[pod].key, "Pod"
    return f"{name} ({kind})" if any(pending_gang.name == name for pending_gang in others) else name


def _gangs(pending: Iterable[int], snapshot: Snapshot) -> list[tuple[list[int], bool]]:
    """Pods that are evaluated together: of a gang, or else of a workload; urgent ones first.

    With each, whether a part of it is of no use. What is one pod has no parts: such pods of equal
    priority are evaluated together.
    """
    by_gang: dict[object, list[int]] = {}
    for pod in pending:
        workload = int(snapshot.pod_workload[pod])
        own = workload if workload >= 0 else ("pod", pod)
        by_gang.setdefault(snapshot.gangs.gang_of(pod) or own, []).append(pod)
    alone: dict[int, list[int]] = {}
    gangs: list[tuple[int, list[int], bool]] = []
    for pods in by_gang.values():
        priority = _priority(pods, snapshot)
        if len(pods) == 1 and not _in_many(pods[0], snapshot):
            alone.setdefault(priority, []).extend(pods)
        else:
            gangs.append((-priority, pods, _needs_its_gang(pods[0], snapshot)))
    gangs += [(-priority, pods, False) for priority, pods in alone.items()]
    return [(pods, together) for _, pods, together in sorted(gangs)]


def _priority(pods: Iterable[int], snapshot: Snapshot) -> int:
    return max(pod_priority(snapshot.pods[pod].spec) for pod in pods)


def _in_many(pod: int, snapshot: Snapshot) -> bool:
    """Whether the only pending pod of a gang or workload is one of several that must all run."""
    gang, workload = snapshot.gangs.gang_of(pod), int(snapshot.pod_workload[pod])
    if not _needs_its_gang(pod, snapshot):
        return False
    if gang is not None:
        return len(snapshot.gangs.facts(gang).members) > 1
    return workload >= 0 and int((snapshot.pod_workload == workload).sum()) > 1


def _needs_its_gang(pod: int, snapshot: Snapshot) -> bool:
    """Whether the pod is of no use without the others: not so for plain replicas."""
    workload = int(snapshot.pod_workload[pod])
    replica = workload >= 0 and snapshot.workloads[workload].kind in _REPLICAS
    return snapshot.gangs.gang_of(pod) is not None or not replica


def _free(snapshot: Snapshot) -> BoolArray:
    """(pods,) those that are not being deleted and do not come with their node."""
    fixed = np.array(
        [workload.kind in _BOUND_TO_NODES for workload in snapshot.workloads], dtype=np.bool_
    )
    free: BoolArray = ~(np.append(fixed, False)[snapshot.pod_workload] | snapshot.leaving)
    return free

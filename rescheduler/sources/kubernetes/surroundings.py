"""A pod with all that decides whether it may be evicted, read again right before the request."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import msgspec

from rescheduler.kube import controllers as kinds
from rescheduler.kube.gangs import KUEUE, WORKLOADS, GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.kube.nesting import decoded
from rescheduler.kube.objects import Base, Node, OwnerReference, Pod
from rescheduler.kube.pod_state import ended
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.snapshot import Cluster, Snapshot, Undecodable
from rescheduler.sources.kubernetes.decode import Sharing, Unreadable, decode_page
from rescheduler.sources.kubernetes.transport import Answer

T = TypeVar("T", bound=Base)
OwnerT = TypeVar("OwnerT", bound=kinds.Owner)

SECONDS = 5.0
"""In which all of it has to be read: what is older is not acted on."""

_CONTROLLERS = {
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets/",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments/",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets/",
    "Job": "/apis/batch/v1/namespaces/{}/jobs/",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers/",
}
_OWNERS = {
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs/",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets/",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets/",
    "Pod": "/api/v1/namespaces/{}/pods/",
}
"""What may be above the controllers."""
_KUEUE = f"/apis/{KUEUE}/v1beta1"


class Fetches(Protocol):
    """A `Connection`, as far as it is needed here."""

    def fetch(
        self, path: str, query: dict[str, str] | None = None, until: float | None = None
    ) -> Answer:
        """A GET, answered by `time.monotonic() == until`; raises ClusterUnavailable."""
        ...


def read_surroundings(connection: Fetches, namespace: str, name: str) -> Snapshot:
    """A snapshot of a pod, all pods of its controller, and what they hang on, and of no more.

    That is: its node, its owners up to the first of a kind that we do not read, its namespace, and
    the PodDisruptionBudgets and HorizontalPodAutoscalers there. What does not exist is left out,
    the pod too; what cannot be decoded is in `undecodable`. Each object is read once, pods last.

    Raises:
        ClusterUnavailable: something could not be read, or not in time.
    """
    reading = _Reading(connection, namespace)
    pod = reading.pod(name)
    if pod is None:
        return reading.snapshot([], [], [])
    controllers, owners = reading.owners(pod)
    namespaces = reading.optional(f"/api/v1/namespaces/{namespace}", kinds.Namespace, "Namespace")
    nodes = reading.optional(f"/api/v1/nodes/{pod.node}", Node, "Node") if pod.node else []
    budgets = reading.every(
        f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
        kinds.PodDisruptionBudget,
        "PodDisruptionBudget",
    )
    autoscalers = reading.every(
        f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers",
        kinds.HorizontalPodAutoscaler,
        "HorizontalPodAutoscaler",
    )
    pods = [pod, *reading.siblings(pod, controllers)]
    return reading.snapshot(
        pods,
        nodes,
        controllers,
        owners=owners,
        namespaces=namespaces,
        budgets=budgets,
        autoscalers=autoscalers,
    )


def read_workload(connection: Fetches, namespace: str, name: str, nodes: Iterable[str]) -> Snapshot:
    """A Workload of Kueue, the LocalQueues of its namespace, all ClusterQueues, and these nodes.

    A Workload or node that does not exist is left out; what cannot be decoded is in `undecodable`.

    Raises:
        ClusterUnavailable: something could not be read, or not in time.
    """
    reading = _Reading(connection, namespace)
    within = f"{_KUEUE}/namespaces/{namespace}"
    named = {"fieldSelector": f"metadata.name={name}"}
    found = reading.every(f"{within}/workloads", GangObject, WORKLOADS, named)
    for each in found:
        each.apiVersion = _KUEUE.removeprefix("/apis/")
    return reading.snapshot(
        [],
        [
            node
            for each in nodes
            for node in reading.optional(f"/api/v1/nodes/{each}", Node, "Node")
        ],
        [],
        gang_objects=found,
        cluster_queues=reading.every(f"{_KUEUE}/clusterqueues", ClusterQueue, "ClusterQueue"),
        local_queues=reading.every(f"{within}/localqueues", LocalQueue, "LocalQueue"),
    )


class _Reading:
    """The reads around one pod, with one deadline."""

    def __init__(self, connection: Fetches, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._until = time.monotonic() + SECONDS
        self._sharing = Sharing()
        self._undecodable: list[Undecodable] = []
        self._taken: datetime | None = None

    def snapshot(
        self,
        pods: list[Pod],
        nodes: list[Node],
        controllers: list[kinds.Controller],
        **more: Any,
    ) -> Snapshot:
        """What was read, at the API server's time of the first answer."""
        return Snapshot(
            taken=self._taken or datetime.now(UTC),
            cluster=Cluster(uid=""),
            nodes=nodes,
            pods=pods,
            controllers=controllers,
            undecodable=self._undecodable,
            **more,
        )

    def pod(self, name: str) -> Pod | None:
        """The pod; one that cannot be decoded must not be taken for one that is gone.

        One that may not be read by itself is read with all of its namespace: else each run would
        end at it. Who may not list these may read none.
        """
        pods = f"/api/v1/namespaces/{self._namespace}/pods"
        path = f"{pods}/{name}"
        answer = self._connection.fetch(path, None, self._until)
        self._taken = answer.date
        if answer.status == 403:
            listed = self.every(pods, Pod, "Pod")
            for bad in self._undecodable:
                if (bad.kind, bad.name) == ("Pod", name):
                    raise _undecodable(path, bad.message)
            return self._shared(path, [pod for pod in listed if pod.metadata.name == name])
        if answer.status >= 300 and answer.status != 404:
            raise _refused(path, answer)
        if answer.status == 404:
            return None
        try:
            pod = decoded(answer.body, Pod)
        except msgspec.MsgspecError as error:
            raise _undecodable(path, str(error)) from error
        return self._shared(path, [pod])

    def _shared(self, path: str, pods: list[Pod]) -> Pod | None:
        """The pod, if there is one, as `Sharing` makes it."""
        for pod in pods:
            problem = self._sharing.pod(pod)
            if problem is not None:
                raise _undecodable(path, problem)
            return pod
        return None

    def owners(self, pod: Pod) -> tuple[list[kinds.Controller], list[kinds.Owner]]:
        """The objects above the pod, from the nearest to the top of those that we know."""
        controllers: list[kinds.Controller] = []
        owners: list[kinds.Owner] = []
        reference, seen = pod.controller, set[str]()
        while reference is not None and reference.uid not in seen and len(seen) < kinds.MOST_OWNERS:
            seen.add(reference.uid)
            above: kinds.Owner | None = None
            if reference.kind in _CONTROLLERS:
                above = self._owner(reference, _CONTROLLERS, kinds.Controller, controllers)
            elif reference.kind in _OWNERS:
                above = self._owner(reference, _OWNERS, kinds.Owner, owners)
            reference = None if above is None else above.metadata.controller
        return controllers, owners

    def _owner(
        self,
        reference: OwnerReference,
        paths: dict[str, str],
        struct: type[OwnerT],
        found: list[OwnerT],
    ) -> OwnerT | None:
        """The owner, which is added to what was found; None where it is not there any more."""
        path = paths[reference.kind].format(self._namespace) + reference.name
        for owner in self.optional(path, struct, reference.kind):
            if owner.metadata.uid == reference.uid:
                owner.kind = reference.kind
                found.append(owner)
                return owner
        return None

    def siblings(self, pod: Pod, controllers: list[kinds.Controller]) -> list[Pod]:
        """The other pods that have not ended and that its controller selects."""
        selector = kinds.selector_text(controllers[0]) if controllers else ""
        if not selector:
            return []
        found = self.every(
            f"/api/v1/namespaces/{self._namespace}/pods",
            Pod,
            "Pod",
            {"labelSelector": selector},
        )
        others = [each for each in found if each.metadata.uid != pod.metadata.uid]
        for each in others:
            problem = self._sharing.pod(each)
            if problem is not None:
                raise _undecodable(f"pod {each.key}", problem)
        return [each for each in others if not ended(each)]

    def optional(self, path: str, struct: type[T], kind: str) -> list[T]:
        """The object, or nothing where there is none."""
        answer = self._get(path)
        if answer.status == 404:
            return []
        try:
            return [decoded(answer.body, struct)]
        except msgspec.MsgspecError as error:
            name = path.rsplit("/", 1)[1]
            self._undecodable.append(Undecodable(kind, self._namespace, name, str(error)))
            return []

    def every(
        self, path: str, struct: type[T], kind: str, query: dict[str, str] | None = None
    ) -> list[T]:
        """All objects of a kind in the namespace, in one page."""
        answer = self._get(path, query)
        if answer.status == 404:
            raise _refused(path, answer)
        try:
            items, token, bad = decode_page(answer.body, struct, kind)
        except Unreadable as error:
            raise _undecodable(path, str(error)) from error
        if token:
            raise _undecodable(path, "it came in pages, though it was asked for as a whole")
        self._undecodable += bad
        return items

    def _get(self, path: str, query: dict[str, str] | None = None) -> Answer:
        answer = self._connection.fetch(path, query, self._until)
        if answer.status >= 300 and answer.status != 404:
            raise _refused(path, answer)
        return answer


def _refused(path: str, answer: Answer) -> ClusterUnavailable:
    return ClusterUnavailable(
        f"{path} answered {answer.status}: {answer.message}",
        "grant the right to get it and to list it in every namespace (see deploy/)."
        if answer.status == 403
        else "this is not a Kubernetes API server.",
    )


def _undecodable(what: str, problem: str) -> ClusterUnavailable:
    return ClusterUnavailable(f"{what} cannot be decoded: {problem}", "report the object.")

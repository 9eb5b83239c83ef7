"""Reads one pod again with all that decides whether it may be evicted."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from rescheduler.kube import controllers as kinds
from rescheduler.kube.gang_marks import KUEUE, WORKLOADS, GangObject
from rescheduler.kube.kueue import KUEUE_VERSIONS, ClusterQueue, LocalQueue
from rescheduler.kube.nesting import decode_json
from rescheduler.kube.objects import Base, Node, OwnerReference, Pod
from rescheduler.kube.pods.pod_state import has_ended
from rescheduler.kube.pods.unsteered_specs import as_made
from rescheduler.model.cluster.snapshot import Cluster, Snapshot, Undecodable
from rescheduler.model.errors import ClusterUnavailable, ObjectLate, ObjectUnreadable
from rescheduler.sources.kubernetes.page_decoding import (
    Sharing,
    Unreadable,
    decode_page,
    problem_of,
)
from rescheduler.sources.kubernetes.pages import Fetches, read_page
from rescheduler.sources.kubernetes.transport import (
    AnswerLate,
    AnswerTooLarge,
    GetResponse,
    RequestRefused,
)
from rescheduler.wire.object_paths import collection_path, name_selector, object_path

T = TypeVar("T", bound=Base)
OwnerT = TypeVar("OwnerT", bound=kinds.Owner)

SECONDS = 5.0
"""In which all of it has to be read: what is older is not acted on."""
MOST = 256 * 2**20
"""Bytes of all its lists, inflated: 5,000 pods of 50 KiB, which is more than we move one of."""

_CONTROLLERS = {
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "Job": ("/apis/batch/v1", "jobs"),
    "ReplicationController": ("/api/v1", "replicationcontrollers"),
}
_OWNERS = {
    "CronJob": ("/apis/batch/v1", "cronjobs"),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "Pod": ("/api/v1", "pods"),
}
"""What may be above the controllers."""
_NAMESPACES, _NODES = "/api/v1/namespaces", "/api/v1/nodes"
_KUEUE = tuple(f"/apis/{KUEUE}/{version}" for version in KUEUE_VERSIONS)


def read_surroundings(
    connection: Fetches, namespace: str, name: str, annotations: frozenset[str] = frozenset()
) -> Snapshot:
    """A snapshot of a pod, all pods of its controller, and what they hang on, and of no more.

    annotations: the names of those of pods that are kept besides the ones that are always read.

    That is: its node, its owners up to the first of a kind that we do not read, its namespace, and
    the PodDisruptionBudgets and HorizontalPodAutoscalers there. What does not exist is left out,
    the pod too; what cannot be decoded is in `undecodable`. Each object is read once, pods last.

    Raises:
        ObjectUnreadable: what belongs to this pod cannot be read, as it is odd, refused or too
            large; others may be. ObjectLate: nor in time, though the API server answers.
        ClusterUnavailable: it does not answer, or refuses everybody.
    """
    reading = _Reading(connection, namespace, annotations)
    pod = reading.pod(name)
    if pod is None:
        return reading.snapshot([], [], [])
    controllers, owners = reading.owners(pod)
    namespaces = reading.optional(_NAMESPACES, namespace, kinds.Namespace, "Namespace")
    nodes = reading.optional(_NODES, pod.node, Node, "Node") if pod.node else []
    budgets = reading.list_all(
        collection_path("/apis/policy/v1", namespace, "poddisruptionbudgets"),
        kinds.PodDisruptionBudget,
        "PodDisruptionBudget",
    )
    autoscalers = reading.list_all(
        collection_path("/apis/autoscaling/v2", namespace, "horizontalpodautoscalers"),
        kinds.HorizontalPodAutoscaler,
        "HorizontalPodAutoscaler",
    )
    pods = [pod, *reading.siblings(pod, controllers)]
    as_made(pods, controllers, lambda spec: spec)
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
    kueue, workloads = reading.workloads(name)
    for gang_object in workloads:
        gang_object.apiVersion = kueue.removeprefix("/apis/")
    return reading.snapshot(
        [],
        [node for node_name in nodes for node in reading.optional(_NODES, node_name, Node, "Node")],
        [],
        gang_objects=workloads,
        cluster_queues=reading.list_all(f"{kueue}/clusterqueues", ClusterQueue, "ClusterQueue"),
        local_queues=reading.list_all(
            collection_path(kueue, namespace, "localqueues"), LocalQueue, "LocalQueue"
        ),
    )


class _Reading:
    """The reads around one pod, with one deadline and one limit of bytes."""

    def __init__(
        self, connection: Fetches, namespace: str, annotations: frozenset[str] = frozenset()
    ) -> None:
        self._connection = connection
        self._namespace = namespace
        self._until = time.monotonic() + SECONDS
        self._left = MOST
        self._sharing = Sharing(annotations)
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
        pods = collection_path("/api/v1", self._namespace, "pods")
        path = object_path(pods, name)
        answer = self._fetch(path)
        if answer.status == 403:
            listed = self.list_all(pods, Pod, "Pod")
            for bad in self._undecodable:
                if (bad.kind, bad.name) == ("Pod", name):
                    raise _undecodable(path, bad.message)
            return self._share_pod(path, [pod for pod in listed if pod.metadata.name == name])
        if answer.status >= 300 and answer.status != 404:
            raise _refusal(path, answer)
        if answer.status == 404:
            return None
        try:
            pod = decode_json(answer.body, Pod)
        except msgspec.ValidationError as error:
            raise _undecodable(path, str(error)) from error
        except msgspec.MsgspecError as error:
            raise _no_answer(path, error) from error
        return self._share_pod(path, [pod])

    def _share_pod(self, path: str, pods: list[Pod]) -> Pod | None:
        """The pod, if there is one, as `Sharing` makes it."""
        for pod in pods:
            problem = problem_of(self._sharing.pod, pod)
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
        collections: dict[str, tuple[str, str]],
        struct: type[OwnerT],
        owners: list[OwnerT],
    ) -> OwnerT | None:
        """The owner, which is added to what was found; None where it is not there any more."""
        api, resource = collections[reference.kind]
        collection = collection_path(api, self._namespace, resource)
        for owner in self.optional(collection, reference.name, struct, reference.kind):
            if owner.metadata.uid == reference.uid:
                owner.kind = reference.kind
                owners.append(owner)
                return owner
        return None

    def siblings(self, pod: Pod, controllers: list[kinds.Controller]) -> list[Pod]:
        """The other pods that have not ended and that its controller selects."""
        if not controllers:
            return []
        try:
            selector = kinds.selector_text(controllers[0])
        except msgspec.MsgspecError as error:
            what = f"the selector of {controllers[0].kind} {controllers[0].metadata.name}"
            raise _undecodable(what, str(error)) from error
        if not selector:
            return []
        pods = collection_path("/api/v1", self._namespace, "pods")
        selected_pods = self.list_all(pods, Pod, "Pod", {"labelSelector": selector})
        others = [
            sibling_pod
            for sibling_pod in selected_pods
            if sibling_pod.metadata.uid != pod.metadata.uid
        ]
        for sibling_pod in others:
            problem = problem_of(self._sharing.pod, sibling_pod)
            if problem is not None:
                raise _undecodable(f"pod {sibling_pod.key}", problem)
        return [sibling_pod for sibling_pod in others if not has_ended(sibling_pod)]

    def workloads(self, name: str) -> tuple[str, list[GangObject]]:
        """The path of the newest version of Kueue that is served, and its Workloads of the name."""
        query = {"fieldSelector": name_selector(name)}
        for kueue in _KUEUE:
            path = collection_path(kueue, self._namespace, "workloads")
            answer = self._fetch(path, query)
            if answer.status != 404 or kueue == _KUEUE[-1]:
                break
        return kueue, self.list_all(path, GangObject, WORKLOADS, query, answer)

    def optional(self, collection: str, name: str, struct: type[T], kind: str) -> list[T]:
        """The object, or nothing where there is none."""
        path = object_path(collection, name)
        answer = self._fetch(path)
        if answer.status == 404:
            return []
        if answer.status >= 300:
            raise _refusal(path, answer)
        try:
            return [decode_json(answer.body, struct)]
        except msgspec.MsgspecError as error:
            self._undecodable.append(Undecodable(kind, self._namespace, name, str(error)))
            return []

    def list_all(
        self,
        path: str,
        struct: type[T],
        kind: str,
        query: dict[str, str] | None = None,
        first: GetResponse | None = None,
    ) -> list[T]:
        """All objects of a kind in the namespace, page by page. first: the page that is read."""
        items: list[T] = []
        token = ""
        while True:
            before, page_query = token, {**(query or {}), **({"continue": token} if token else {})}
            answer, first = first or self._fetch(path, page_query), None
            if answer.status >= 300:
                raise _refusal(path, answer)
            try:
                page, token, bad = decode_page(answer.body, struct, kind)
            except Unreadable as error:
                raise _no_answer(path, error) from error
            items += page
            self._undecodable += bad
            if not token:
                return items
            if token == before:
                raise _no_answer(path, "it answers the same page again and again")

    def _fetch(self, path: str, page: dict[str, str] | None = None) -> GetResponse:
        """An answer. page: how much of a list is requested, in one page; None for an object.

        Once anything was answered, what comes late is large: it does not tell of an outage.
        """
        try:
            if page is None:
                answer = self._connection.fetch(path, None, self._until)
            else:
                answer = read_page(self._connection, path, page, self._until, self._left)
                self._left -= len(answer.body)
        except (AnswerTooLarge, RequestRefused) as error:
            raise ObjectUnreadable(error.message, error.hint) from error
        except AnswerLate as error:
            if self._taken is None:
                raise
            raise ObjectLate(error.message, error.hint) from error
        self._taken = self._taken or answer.date or datetime.now(UTC)
        return answer


def _refusal(path: str, answer: GetResponse) -> ObjectUnreadable:
    return ObjectUnreadable(
        f"{path} answered {answer.status}: {answer.message}",
        "grant the right to get it and to list it in every namespace (see deploy/)."
        if answer.status == 403
        else "this is not a Kubernetes API server.",
    )


def _undecodable(what: str, problem: str) -> ObjectUnreadable:
    return ObjectUnreadable(f"{what} cannot be decoded: {problem}", "report the object.")


def _no_answer(path: str, problem: object) -> ClusterUnavailable:
    return ClusterUnavailable(
        f"{path} is not what Kubernetes answers: {problem}",
        "a proxy answered instead of the API server.",
    )

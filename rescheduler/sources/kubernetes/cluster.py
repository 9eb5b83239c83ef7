"""A cluster, read once: all the lists that a snapshot is made of."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from rescheduler.kube import controllers as kinds
from rescheduler.kube.gang_marks import WORKLOADS, GangObject
from rescheduler.kube.kueue import holds
from rescheduler.kube.nesting import decode_json
from rescheduler.kube.objects import Node, Pod, PodSpec
from rescheduler.kube.owner_references import tidy_owners
from rescheduler.kube.pods.pod_state import has_ended
from rescheduler.kube.pods.unsteered_specs import as_made
from rescheduler.model.cluster.snapshot import ANSWERED, Cluster, Snapshot, Undecodable
from rescheduler.model.errors import ClusterUnavailable, ObjectUnreadable
from rescheduler.sources.kubernetes.discovery import Discovery
from rescheduler.sources.kubernetes.listed_kinds import (
    CONTROLLERS,
    GANG_OBJECTS,
    LISTS,
    MAKERS,
    NODE,
    OWNERS,
    POD,
    Kind,
)
from rescheduler.sources.kubernetes.page_decoding import (
    Sharing,
    Unreadable,
    collector_off,
    decode_page,
    problem_of,
    volumes_that_matter,
    written_problem,
)
from rescheduler.sources.kubernetes.pages import read_page
from rescheduler.sources.kubernetes.transport import Connection, GetResponse, ServerFailed
from rescheduler.wire.object_paths import collection_path, name_selector

RESTARTS = 2
"""How often a list is begun again when its continue token has expired."""
DEADLINE = 180.0
"""Seconds in which the whole cluster has to be read."""

_RUNNING = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
_NOT_DONE = {"fieldSelector": "status.phase!=Succeeded"}
_NO_SPEC = PodSpec()


class _Version(msgspec.Struct):
    gitVersion: str = ""


def read_cluster(
    connection: Connection,
    annotations: frozenset[str] = frozenset(),
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Snapshot:
    """Everything but the readings, with these annotations besides those that are always read.

    `taken` is the server's time when the pods were listed; `now` stands in where it sends no Date.
    What cannot be decoded is in `undecodable`, kinds that are not served in `unread`.

    Raises: ClusterUnavailable where a kind that the cluster serves could not be read.
    """
    reader = _Reader(connection, annotations)
    with collector_off():
        pods, failed = reader.pods_and_failed()
        first = reader.first
        nodes = reader.nodes()
        _refuse_duplicates("node", [node.metadata.name for node in nodes])
        _refuse_duplicates("pod with UID", [pod.metadata.uid for pod in pods])
        fields: dict[str, Any] = {name: reader.objects(kind) for name, kind in LISTS.items()}
        fields["gang_objects"] = [o for kind in GANG_OBJECTS for o in reader.gang_objects(kind)]
        owners = {owner.uid for pod in pods for owner in pod.metadata.ownerReferences or ()}
        controllers = [
            controller for kind in CONTROLLERS for controller in reader.controllers(kind, owners)
        ]
        fields["owners"] = [owner for kind in OWNERS for owner in reader.owners(kind)]
        owning = [pod.metadata for pod in (*pods, *controllers, *fields["owners"])]
        owned = (*failed, *fields["gang_objects"], *fields["resource_claims"])
        tidy_owners(
            [*owning, *(pod.metadata for pod in owned)],
            {meta.uid: meta.namespace for meta in owning},
        )
        as_made(pods, controllers, reader.share)
    return Snapshot(
        taken=now() if first is None or first.date is None else first.date,
        cluster=reader.cluster(fields["namespaces"]),
        nodes=nodes,
        pods=pods,
        failed=failed,
        controllers=controllers,
        undecodable=reader.undecodable,
        unread=reader.unread,
        served=reader.served,
        clock_skew=None if first is None else first.clock_skew,
        **fields,
    )


def read_pods(
    connection: Connection, namespace: str, selector: str = "", name: str = ""
) -> list[Pod]:
    """The pods of one namespace as they are now, without those that ended.

    selector: a label selector, if only these are requested. name: of one pod, which is found by the
    selector where an authorizer refuses that name alone.

    Raises:
        ClusterUnavailable: they cannot be read.
        ObjectUnreadable: one of them cannot be decoded: a pod that we cannot see must not be taken
            for one that is gone. Or there can be no pod of this name.
    """
    reader = _Reader(connection)
    path = collection_path("/api/v1", namespace, "pods")
    query = by_labels = {"labelSelector": selector} if selector else {}
    if name:
        query = {"fieldSelector": f"{_RUNNING['fieldSelector']},{name_selector(name)}"}
    try:
        pods = reader.pods(path, query)
    except _Refused:
        if not name:
            raise
        pods = [pod for pod in reader.pods(path, by_labels) if pod.metadata.name == name]
    if reader.undecodable:
        bad = reader.undecodable[0]
        raise ObjectUnreadable(
            f"pod {bad.namespace}/{bad.name} cannot be decoded: {bad.message}", "report the object."
        )
    return pods


def read_queues(connection: Connection) -> Snapshot:
    """What Kueue decides by, as it is now: Workloads that have not finished, queues, and no more.

    Raises:
        ClusterUnavailable: something could not be read, or not in time.
    """
    reader = _Reader(connection)
    fields: dict[str, Any] = {
        name: reader.objects(LISTS[name]) for name in ("cluster_queues", "local_queues")
    }
    workloads = next(kind for kind in GANG_OBJECTS if kind.name == WORKLOADS)
    listed = reader.gang_objects(workloads)
    fields["gang_objects"] = [w for w in listed if not holds(w.status.conditions, "Finished")]
    first = reader.first
    return Snapshot(
        taken=datetime.now(UTC) if first is None or first.date is None else first.date,
        cluster=Cluster(uid=""),
        nodes=[],
        pods=[],
        undecodable=reader.undecodable,
        unread=reader.unread,
        **fields,
    )


class _Refused(ClusterUnavailable):
    """The right to this list is missing, and perhaps to no other."""


class _Reader:
    """One pass over the API server, with one deadline and one table of what is shared."""

    def __init__(self, connection: Connection, annotations: frozenset[str] = frozenset()) -> None:
        self._connection = connection
        self._until = time.monotonic() + DEADLINE
        self._sharing = Sharing(annotations)
        self.undecodable: list[Undecodable] = []
        self.unread: list[str] = []
        self.served: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        self._discovery = Discovery(connection, self._until)
        self.first: GetResponse | None = None
        """The first answer to the latest list."""

    def pods(self, path: str, query: dict[str, str]) -> list[Pod]:
        """The pods that have not ended, sharing what is equal."""
        return _running_pods(self._list(POD, path, {**_RUNNING, **query}, self._pod))

    def pods_and_failed(self) -> tuple[list[Pod], list[Pod]]:
        """All pods that have not ended, and those that have failed, without their specs."""
        pods = self._list(POD, POD.path, _NOT_DONE, self._pod)
        failed = [pod for pod in pods if pod.status.phase == "Failed"]
        for pod in failed:
            pod.spec = _NO_SPEC
        return _running_pods(pods), failed

    def nodes(self) -> list[Node]:
        """The nodes."""
        return self._list(NODE, NODE.path, {}, self._sharing.node)

    def objects(self, kind: Kind) -> list[Any]:
        """The objects of a kind, with only the annotations that we read."""

        def thin(item: Any) -> str | None:
            item.metadata.annotations = self._sharing.keep_annotations(item.metadata.annotations)
            return written_problem(item) if item.metadata.name else "it has no name"

        return self._list(kind, kind.path, {}, thin)

    def gang_objects(self, kind: Kind) -> list[GangObject]:
        """The PodGroups or Workloads of one API group, each with its API version."""
        objects: list[GangObject] = self.objects(kind)
        for gang_object in objects:
            path = self._paths.get(kind.name, kind.path)
            gang_object.apiVersion = path.removeprefix("/apis/").rpartition("/")[0]
        return objects

    def owners(self, kind: Kind) -> list[kinds.Owner]:
        """The objects of a kind that may be above controllers."""
        owners: list[kinds.Owner] = self.objects(kind)
        for owner in owners:
            owner.kind = kind.name
        return owners

    def share(self, spec: PodSpec) -> PodSpec:
        """The one spec that is kept of those that are equal to this."""
        shared_spec: PodSpec = self._sharing.share(spec)
        return shared_spec

    def controllers(self, kind: Kind, owners: set[str]) -> list[kinds.Controller]:
        """The controllers of a kind; old ReplicaSets and ended Jobs without pods are left out.

        A Job that is suspended may be one that we have moved: it is kept, without its template
        where it has no pods.
        """
        passing = kind.name in ("ReplicaSet", "Job")
        kept = []
        for controller in self.objects(kind):
            controller.kind = kind.name
            idle = (
                controller.wanted == 0
                and not controller.status.active
                and controller.metadata.uid not in owners
            )
            if passing and idle and not controller.suspended:
                continue
            template = controller.spec.template
            if kind.name not in MAKERS or idle:
                controller.spec.template = None
            elif template is not None:
                template.spec.volumes = volumes_that_matter(template.spec.volumes or [])
                template.spec = self._sharing.share(template.spec)
                writes = controller.metadata.managedFields or ()
                controller.metadata.managedFields = [w for w in writes if w.of_template] or None
            kept.append(controller)
        return kept

    def cluster(self, namespaces: list[kinds.Namespace]) -> Cluster:
        """Which cluster this is."""
        uid = next((n.metadata.uid for n in namespaces if n.metadata.name == "kube-system"), "")
        if not uid:
            raise ClusterUnavailable(
                f"{self._connection.name} has no namespace kube-system, which identifies a cluster",
                "this is not a whole Kubernetes cluster.",
            )
        answer = self._connection.fetch("/version", until=self._until)
        try:
            version = decode_json(answer.body, _Version).gitVersion
        except msgspec.DecodeError:
            version = ""
        return Cluster(uid=uid, version=version, name=self._connection.name)

    def _pod(self, pod: Pod) -> str | None:
        return self._sharing.pod(pod)

    def _list(
        self,
        kind: Kind,
        path: str,
        query: dict[str, str],
        finish: Callable[[Any], str | None],
    ) -> list[Any]:
        """All pages of a list; begun again when the API server has forgotten where we were."""
        for _ in range(RESTARTS + 1):
            items, bad = self._pages(kind, path, query, finish)
            if items is not None:
                self.undecodable += bad
                return items
        raise ClusterUnavailable(
            f"{path} expired {RESTARTS + 1} times while it was read",
            "the API server is compacting faster than we can read; a later cycle tries again.",
        )

    def _pages(
        self,
        kind: Kind,
        path: str,
        query: dict[str, str],
        finish: Callable[[Any], str | None],
    ) -> tuple[list[Any] | None, list[Undecodable]]:
        items: list[Any] = []
        undecodable: list[Undecodable] = []
        token, self.first = "", None
        while True:
            page_query = {**query, **({"continue": token} if token else {})}
            answer = self._page(kind, path, page_query)
            self.first = self.first or answer
            if answer.status == 410:
                return None, []
            if answer.status >= 300:
                older = self._older(kind, path)
                if older:
                    self._paths[kind.name] = older
                    return self._pages(kind, older, query, finish)
                self._note_unlisted(kind, path, answer)
                return [], []
            try:
                before = token
                page, token, bad = decode_page(answer.body, kind.struct, kind.name)
            except Unreadable as error:
                raise ClusterUnavailable(
                    f"{path} is not a list of Kubernetes objects: {error}",
                    "a proxy answered instead of the API server.",
                ) from error
            if token and token == before:
                raise ClusterUnavailable(
                    f"{path} answers the same page again and again",
                    "a proxy answered instead of the API server.",
                )
            undecodable += bad
            for item in page:
                problem = problem_of(finish, item)
                if problem is None:
                    items.append(item)
                else:
                    undecodable.append(_undecodable_item(kind, item, problem))
            if not token:
                break
        return items, undecodable

    def _page(self, kind: Kind, path: str, query: dict[str, str]) -> GetResponse:
        try:
            return read_page(self._connection, path, query, self._until)
        except ServerFailed as fault:
            if not kind.extension:
                raise
            return fault.answer

    def _older(self, kind: Kind, path: str) -> str:
        """Where the kind is served, if not in the newest version that is read; "" if nowhere."""
        if path != kind.path or not kind.older or self._discovery.serves(path):
            return ""
        return next(
            (older_path for older_path in kind.older if self._discovery.serves(older_path)), ""
        )

    def _note_unlisted(self, kind: Kind, path: str, answer: GetResponse) -> None:
        """A kind that cannot be listed: a fault, unless the cluster says that it has none such.

        An extension may fail alone, as where the webhook that converts its objects is down: then
        only the pods that it governs cannot be judged.
        An account without the right gets 403 for a kind that is not served, too.
        """
        if kind.extension and not self._discovery.serves(path):
            # There may be objects of it, which a version that we do not know would show.
            others = self._discovery.other_versions(path)
            if others:
                read = ", ".join(api_path.split("/")[3] for api_path in (kind.path, *kind.older))
                verb = "are" if kind.older else "is"
                self.served[kind.name] = f"it is served as {', '.join(others)}; {read} {verb} read"
            if kind.noted or others:
                self.unread.append(kind.name)
            return
        fails_alone = kind.extension and answer.status >= 500
        if fails_alone or (kind.optional and answer.status == 403):
            self.served[kind.name] = f"{ANSWERED} {answer.status}: {answer.message}"
            self.unread.append(kind.name)
            return
        fault = _Refused if answer.status == 403 else ClusterUnavailable
        raise fault(
            f"{kind.name} cannot be listed: {path} answered {answer.status}: {answer.message}",
            f"grant the right to {kind.right} (see deploy/kustomize/base/reader.yaml)."
            if answer.status == 403
            else "a proxy answered, or the cluster is older than Kubernetes 1.34.",
        )


def _refuse_duplicates(what: str, names: list[str]) -> None:
    """What is listed twice would be counted twice."""
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise ClusterUnavailable(
            f"{what} {name} is listed {times} times",
            "a proxy answered instead of the API server; a later cycle tries again.",
        )


def _running_pods(pods: list[Pod]) -> list[Pod]:
    return [pod for pod in pods if not has_ended(pod)]


def _undecodable_item(kind: Kind, item: Any, problem: str) -> Undecodable:
    return Undecodable(
        kind=kind.name,
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        message=problem,
        node=getattr(item, "node", ""),
    )

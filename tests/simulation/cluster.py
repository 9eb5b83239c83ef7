"""A whole small cluster by its documented semantics: API server, controllers, scheduler, kubelets.

What the API server does with an eviction, a budget or a write is `tests/fakes/world.py`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from tests.fakes.manners import status
from tests.simulation.controllers import Controlled
from tests.simulation.objects import (
    LONG_AGO,
    Object,
    condition,
    is_ready,
    leaving,
    owner_uid,
    pod_template,
    reference,
    sized,
    uid_of,
)

_ITEM = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/(?P<version>v\d+(?:(?:alpha|beta)\d+)?)"
    r"(?:/namespaces/(?P<ns>[^/]+))?"
    r"/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?$"
)


@lru_cache(maxsize=4096)
def _named(path: str) -> tuple[str, str | None, str | None]:
    """Kind, namespace and name that a path asks for; "" where `World` knows it, None for all."""
    found = _ITEM.match(path)
    if found is not None and (found["name"] is not None or found["kind"] != "namespaces"):
        return found["kind"], found["ns"], found["name"]
    return ("namespaces" if path == "/api/v1/namespaces" else ""), None, None


_WORKLOADS = frozenset({"replicasets", "deployments", "statefulsets", "daemonsets", "jobs"})
_NOTHING = b'{"metadata":{},"items":[]}'


@lru_cache(maxsize=256)
def _selector(query: str) -> Callable[[Object], bool]:
    """What a list is narrowed to by labels (`key=value`, and all of them) and by name."""
    given = dict(parse_qsl(query))
    labels = [
        requirement.split("=", 1)
        for requirement in given.get("labelSelector", "").split(",")
        if requirement
    ]
    fields = dict(
        requirement.split("=", 1)
        for requirement in given.get("fieldSelector", "").split(",")
        if requirement
    )
    name = fields.get("metadata.name")

    def selects(thing: Object) -> bool:
        metadata = thing["metadata"]
        carried = metadata.get("labels") or {}
        return name in (None, metadata["name"]) and all(carried.get(k) == v for k, v in labels)

    return selects


class SimCluster(Controlled):
    """The cluster with its API server."""

    # --- objects

    def add_node(self, name: str, *, zone: str, cpu: float = 4.0) -> Object:
        """A Ready node that has been there for two days."""
        room = {"cpu": f"{cpu:g}", "memory": "32Gi", "pods": "20"}
        return self.put(
            "nodes",
            "",
            name,
            {
                "metadata": {
                    "uid": f"node-{name}",
                    "creationTimestamp": LONG_AGO,
                    "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone},
                },
                "spec": {},
                "status": {
                    "allocatable": room,
                    "capacity": room,
                    "conditions": [condition("Ready", "True", LONG_AGO)],
                },
            },
        )

    def add_workload(
        self, kind: str, app: str, nodes: list[str], *, namespace: str = "default", **more: Any
    ) -> Object:
        """A controller of this kind with a pod on each of the nodes; answers the top owner.

        more: `cpu` that a pod requests, `labels` and `notes` (annotations) of the pods, and the
        labels of nodes that they ask for (`selector`).
        """
        template = pod_template(app, **more)
        selector = {"matchLabels": {"app": app}}
        owner = None
        if kind == "Deployment":
            owner = self.put(
                "deployments",
                namespace,
                app,
                {
                    "metadata": {"uid": f"dep-{app}", "generation": 1},
                    "spec": {
                        "replicas": len(nodes),
                        "selector": selector,
                        "template": template,
                    },
                },
            )
        made = {
            "Deployment": "replicasets",
            "StatefulSet": "statefulsets",
            "Job": "jobs",
            "DaemonSet": "daemonsets",
        }[kind]
        name = f"{app}-1" if kind == "Deployment" else app
        controller = self.put(
            made,
            namespace,
            name,
            {
                "metadata": {
                    "uid": f"{made[:3]}-{app}",
                    "generation": 1,
                    "creationTimestamp": LONG_AGO,
                    "ownerReferences": [reference("Deployment", owner)] if owner else [],
                },
                "spec": {"selector": selector, "template": template, **sized(kind, len(nodes))},
            },
        )
        short = {"replicasets": "ReplicaSet", "daemonsets": "DaemonSet", "jobs": "Job"}
        for number, node in enumerate(nodes):
            pod = self.make_pod(
                short.get(made, "StatefulSet"), controller, f"{app}-{number}", LONG_AGO
            )
            self.bind(pod, node)
            self.start(pod, LONG_AGO)
        return owner or controller

    def add_bare_pod(self, name: str, node: str, namespace: str = "default") -> Object:
        """A pod that nobody would replace."""
        template = pod_template(name)
        pod = self.put(
            "pods",
            namespace,
            name,
            {
                "metadata": {
                    "creationTimestamp": LONG_AGO,
                    "ownerReferences": [],
                    **template["metadata"],
                },
                "spec": dict(template["spec"]),
                "status": {"phase": "Pending"},
            },
        )
        self.bind(pod, node)
        self.start(pod, LONG_AGO)
        return pod

    def add_pdb(self, app: str, *, name: str = "", unavailable: int = 1) -> None:
        """A PodDisruptionBudget over the pods of an app."""
        self.put(
            "poddisruptionbudgets",
            "default",
            name or app,
            {
                "metadata": {"generation": 1},
                "spec": {
                    "selector": {"matchLabels": {"app": app}},
                    "maxUnavailable": unavailable,
                },
                "status": {},
            },
        )
        self.sync_budgets()

    # --- the API server

    def answer(
        self, method: str, path: str, body: Object | None, query: str = ""
    ) -> tuple[int, bytes, dict[str, str]]:
        """Answer one request with JSON as it goes over the wire."""
        if path == "/version":
            return 200, b'{"gitVersion":"v1.36.3"}', {}
        if method == "GET":
            kind, namespace, name = _named(path)
            if kind and name is None:
                return 200, self._listed(kind, namespace, query), {}
            if kind and name is not None:
                return self._one(kind, namespace or "", name)
        code, reply, headers = self.handle(method, f"{path}?{query}", body)
        return code, msgspec.json.encode(reply), headers

    def _one(self, kind: str, namespace: str, name: str) -> tuple[int, bytes, dict[str, str]]:
        stored = self.objects.get((kind, namespace, name))
        if stored is None:
            code, reply, headers = status(404, "NotFound", f'{kind} "{name}" not found')
            return code, msgspec.json.encode(reply), headers
        if kind in _WORKLOADS:
            self._refresh(kind, stored, self._staying())
        return 200, msgspec.json.encode(stored), {}

    def _listed(self, kind: str, namespace: str | None, query: str = "") -> bytes:
        items = [
            value
            for (_, where, _), value in self.objects.of(kind).items()
            if namespace in (None, where)
        ]
        if not items:
            return _NOTHING
        if "abelSelector" in query or "metadata.name" in query:
            items = list(filter(_selector(query), items))
        if kind in _WORKLOADS:
            pods = self._staying()
            for item in items:
                self._refresh(kind, item, pods)
        return msgspec.json.encode({"metadata": {}, "items": items})

    def _staying(self) -> dict[str, list[Object]]:
        """The pods that are not leaving, by the UID of their controller."""
        found: dict[str, list[Object]] = {}
        for pod in self.objects.of("pods").values():
            if not leaving(pod):
                found.setdefault(owner_uid(pod), []).append(pod)
        return found

    def _refresh(self, kind: str, stored: Object, staying: dict[str, list[Object]]) -> None:
        """The status of a workload as its controller would have written it by now."""
        made = stored
        if kind == "deployments":
            made = next(
                replica_set
                for replica_set in self.of("replicasets")
                if owner_uid(replica_set) == uid_of(stored)
            )
        pods = staying.get(uid_of(made), [])
        ready = sum(is_ready(pod) for pod in pods)
        wanted = stored["spec"].get("replicas", len(pods))
        rolling = stored.get("rolling", False)
        stored["status"] = {
            "replicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": wanted - 1 if rolling else len(pods),
            "observedGeneration": stored["metadata"]["generation"] - rolling,
            "active": len(pods),
            "desiredNumberScheduled": len(pods),
            "numberReady": ready,
        }

    def _create(self, kind: str, namespace: str, body: Object) -> Any:
        name = body["metadata"]["name"]
        if kind == "events":
            return 201, body, {}
        if (kind, namespace, name) in self.objects:
            return status(409, "AlreadyExists", f'{kind} "{name}" already exists')
        return 201, self.put(kind, namespace, name, body), {}

    def _replace(self, key: tuple[str, str, str], body: Object) -> Any:
        stored = self.objects.get(key)
        if stored is None:
            return status(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            return status(409, "Conflict", "the object has been modified")
        return 200, self.put(*key, body), {}

    def tick(self) -> None:
        """Nothing: controllers and kubelets work by events."""

    def _replacement(self, old: Object) -> None:
        """After an eviction: the pod goes in its own time, and its controller sees to the rest."""
        self._leave(old)

    def _evict(self, namespace: str, name: str, body: Object, *, dry_run: bool) -> Any:
        pod = self.objects.get(("pods", namespace, name))
        was_leaving = pod is not None and leaving(pod)
        reply = super()._evict(namespace, name, body, dry_run=dry_run)
        if pod is not None and leaving(pod) and not was_leaving:
            self.removed_by_eviction(pod)
        return reply

    def removed_by_eviction(self, pod: Object) -> None:
        """The pod begins to leave; `World` has told ReplicaSets' pods already."""
        if all(
            reference["kind"] != "ReplicaSet" for reference in pod["metadata"]["ownerReferences"]
        ):
            self._leave(pod)
        self.bump(pod)
        self.touched()

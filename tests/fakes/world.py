"""A small cluster with the API server's manners: what acting touches, by its documented semantics.

It holds pods with their nodes and owners, PodDisruptionBudgets, HorizontalPodAutoscalers, Leases,
ConfigMaps, Namespaces and Events as plain JSON, keeps resourceVersions, evicts as the Eviction API
does, and lets controllers replace what has gone. It has no clock of its own and speaks no HTTP: the
simulation and the fake API server are its faces.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from rescheduler.model.cluster.snapshot import Snapshot
from tests.fakes import budgets, kueue, nodes
from tests.fakes.manners import (
    Reply,
    copied,
    crash_loop,
    is_ready,
    owner_name,
    restart,
    selected,
    stamp,
    status,
)
from tests.fakes.objects import Objects
from tests.fakes.steering import UNPLACED, dry_run, steer

_PATH = re.compile(
    r"^/(?:api|apis/[^/]+)/v[12](?:alpha2)?/namespaces(?:/(?P<ns>[^/]+)"
    r"(?:/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?)?)?$"
)
LONG = timedelta(days=1)
"""The age of what was there before."""


class World:
    """The truth. grace, ready_after: seconds until a pod is gone, and a new one Ready.

    place: which node a replacement gets, or "" to leave it Pending. sound: whether it becomes
    Ready there; else it crash-loops. relapse: how long it stays Ready before a container of it
    restarts, each time again; None: for good. stuck: whether an evicted pod never goes.
    offset: by which the clock of the API server that answers now is wrong.
    steers: whether admission steers replacements by the table, and shows which one it reads; with
    `frozen` it goes on with the table that it had then, and `blind` it shows one and steers nobody.
    steers_by: the means that show it; none: as they did before they told their names.
    may_taint: whether nodes may be patched. tainters: other users who may. unseen: resources that
    a review of our access answers No for.
    kueue: what stops and starts Workloads.
    forbidden: apps whose pods admission lets nobody evict.
    on_accept: called with the pod and the request of each eviction that is accepted.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.grace = 3.0
        self.ready_after = 4.0
        self.place: Callable[[dict[str, Any]], str] = lambda _: "spare"
        self.sound: Callable[[dict[str, Any]], bool] = lambda _: True
        self.relapse: float | None = None
        self.stuck: Callable[[dict[str, Any]], bool] = lambda _: False
        self.offset = timedelta(0)
        self.steers = False
        self.steers_by: tuple[str, ...] = ()
        self.blind = False
        self.may_taint = True
        self.tainters: set[str] = set()
        self.unseen: set[str] = set()
        self.forbidden: set[str] = set()
        self.kueue = kueue.Kueue()
        self.frozen: dict[str, Any] | None = None
        self.on_accept: Callable[[dict[str, Any], dict[str, Any]], None] = lambda *_: None
        self.objects = Objects()
        self.accepted: list[str] = []
        self._version = 0
        for name in ("default", "kube-system"):
            self.put("namespaces", "", name, {})

    def put(self, kind: str, namespace: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store an object as it is, with the next resourceVersion."""
        self._version += 1
        metadata = {**body.get("metadata", {}), "name": name, "resourceVersion": str(self._version)}
        metadata.setdefault("uid", f"uid-{self._version}")
        if namespace:
            metadata["namespace"] = namespace
        self.objects[kind, namespace, name] = {**body, "metadata": metadata}
        return self.objects[kind, namespace, name]

    def load(self, snapshot: Snapshot) -> None:
        """Put the pods of a snapshot and what they hang on."""
        for pod in snapshot.pods:
            manifest = msgspec.to_builtins(pod)
            manifest["spec"]["nodeName"] = manifest.pop("node")
            self.put("pods", pod.metadata.namespace, pod.metadata.name, manifest)
        for node in snapshot.nodes:
            self.put("nodes", "", node.metadata.name, msgspec.to_builtins(node))
        for controller in snapshot.controllers:
            kind = f"{controller.kind.lower()}s"
            manifest = msgspec.to_builtins(controller)
            self.put(kind, controller.metadata.namespace, controller.metadata.name, manifest)

    def add_pod(
        self,
        name: str,
        node: str,
        *,
        owner: tuple[str, str],
        app: str,
        namespace: str = "default",
        ready: bool = True,
        age: timedelta = LONG,
    ) -> dict[str, Any]:
        """A pod of that owner (kind, UID), Running and Ready unless said otherwise.

        Its node and its owner are made where they are not there; the owner wants one pod more.
        """
        born = stamp(self.now() + self.offset - age)
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": born,
        }
        kind, uid = owner
        if age:
            self._owner(kind, uid, namespace, app)["spec"]["replicas"] += 1
        self._node(node)
        reference = {"kind": kind, "name": owner_name(uid), "uid": uid, "controller": True}
        return self.put(
            "pods",
            namespace,
            name,
            {
                "metadata": {
                    "labels": {"app": app},
                    "creationTimestamp": born,
                    "ownerReferences": [reference],
                },
                "spec": {"nodeName": node, "containers": []},
                "status": {
                    "phase": "Running" if node else "Pending",
                    "conditions": [condition if node else dict(UNPLACED)],
                },
            },
        )

    def _owner(self, kind: str, uid: str, namespace: str, app: str) -> dict[str, Any]:
        key = (f"{kind.lower()}s", namespace, owner_name(uid))
        if key not in self.objects:
            selector = {"matchLabels": {"app": app}}
            metadata = {"uid": uid, "generation": 1}
            spec = {"replicas": 0, "selector": selector}
            self.put(*key, {"metadata": metadata, "spec": spec, "status": {}})
        return self.objects[key]

    def _node(self, name: str) -> None:
        if name and ("nodes", "", name) not in self.objects:
            metadata = {"creationTimestamp": stamp(self.now() - LONG)}
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            self.put("nodes", "", name, {"metadata": metadata, "spec": {}, "status": ready})

    def owners(self) -> list[tuple[str, str, str]]:
        """The keys of the controllers."""
        return [key for key, value in self.objects.items() if "replicas" in value.get("spec", {})]

    def add_autoscaler(
        self, owner: tuple[str, str, str], *, current: int, desired: int
    ) -> dict[str, Any]:
        """A HorizontalPodAutoscaler of the controller with this key."""
        kinds = {"replicasets": "ReplicaSet", "statefulsets": "StatefulSet"}
        target = {"kind": kinds.get(owner[0], "Deployment"), "name": owner[2]}
        status = {"currentReplicas": current, "desiredReplicas": desired}
        body = {"spec": {"scaleTargetRef": target}, "status": status}
        return self.put("horizontalpodautoscalers", owner[1], owner[2], body)

    def add_budget(self, name: str, app: str, *, allowed: int, namespace: str = "default") -> None:
        """A PodDisruptionBudget over label app that starts with this allowance."""
        self.put(
            "poddisruptionbudgets",
            namespace,
            name,
            {
                "metadata": {"generation": 1},
                "spec": {"selector": {"matchLabels": {"app": app}}},
                "status": {"observedGeneration": 1, "disruptionsAllowed": allowed},
            },
        )

    def handle(self, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
        """Answer one request."""
        self.tick()
        path, _, query = path.partition("?")
        about = nodes.answer(self, method, path, body)
        about = about or kueue.answer(self, method, path, query, body)
        if about is not None:
            return about
        found = _PATH.match(path)
        if found is None:
            return self._all_pods(path)
        namespace, kind, name, sub = found.group("ns", "kind", "name", "sub")
        if kind is None:
            kind, namespace, name = "namespaces", "", namespace
        elif ("namespaces", "", namespace) not in self.objects:
            return status(404, "NotFound", f'namespaces "{namespace}" not found')
        if sub == "eviction":
            return self._evict(namespace, name, body or {}, dry_run="dryRun=All" in query)
        if method == "PUT" and "dryRun=All" in query:
            return dry_run(self, (kind, namespace, name), body or {})
        match method:
            case "GET":
                return self._get(kind, namespace, name, query)
            case "POST":
                return self._create(kind, namespace, body or {})
            case "PUT":
                return self._replace((kind, namespace, name), body or {})
        return status(405, "MethodNotAllowed", f"{method} is not allowed")

    def _all_pods(self, path: str) -> Reply:
        if path != "/api/v1/pods":
            return status(404, "NotFound", "the server could not find the requested resource")
        every = [value for (kind, _, _), value in self.objects.items() if kind == "pods"]
        return 200, {"items": copied(every), "metadata": {}}, {}

    def _get(self, kind: str, namespace: str, name: str | None, query: str = "") -> Reply:
        if name is not None:
            self._count_pods(kind, namespace, name)
            stored = self.objects.get((kind, namespace, name))
            if stored is None:
                return status(404, "NotFound", f'{kind} "{name}" not found')
            return 200, copied(stored), {}
        asked, found = dict(parse_qsl(query)), (kind, namespace)
        items = [v for k, v in self.objects.items() if k[:2] == found and selected(v, asked)]
        first, most = int(asked.get("continue") or 0), int(asked.get("limit") or 0)
        last = first + most if most and first + most < len(items) else None
        metadata = {} if last is None else {"continue": str(last)}
        return 200, {"items": copied(items[first:last]), "metadata": metadata}, {}

    def _count_pods(self, kind: str, namespace: str, name: str) -> None:
        """Let a controller's status catch up with its pods."""
        found = self.objects.get((kind, namespace, name))
        if found is not None and "replicas" in found.get("spec", {}):
            self.count_pods([found])

    def count_pods(self, controllers: list[dict[str, Any]]) -> None:
        """Let the status of these controllers catch up with their pods."""
        made_for: dict[str, set[str]] = {}
        pods: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for (kind, namespace, _), value in self.objects.items():
            metadata = value["metadata"]
            if kind != "pods":
                for reference in metadata.get("ownerReferences", ()):
                    made_for.setdefault(reference["uid"], set()).add(metadata["uid"])
            elif "deletionTimestamp" not in metadata:
                owner = next((o["uid"] for o in metadata.get("ownerReferences", ())), "")
                pods.setdefault((namespace, owner), []).append(value)
        for found in controllers:
            metadata = found["metadata"]
            makers = {metadata["uid"], *made_for.get(metadata["uid"], ())}
            own = [pod for uid in makers for pod in pods.get((metadata["namespace"], uid), ())]
            found["status"] |= {
                "replicas": len(own),
                "readyReplicas": sum(is_ready(value) for value in own),
                "updatedReplicas": len(own),
                "observedGeneration": metadata.get("generation", 0),
            }

    def _create(self, kind: str, namespace: str, body: dict[str, Any]) -> Reply:
        name = body["metadata"]["name"]
        if (kind, namespace, name) in self.objects:
            return status(409, "AlreadyExists", f'{kind} "{name}" already exists')
        return 201, copied(self.put(kind, namespace, name, copied(body))), {}

    def _replace(self, key: tuple[str, str, str], body: dict[str, Any]) -> Reply:
        stored = self.objects.get(key)
        if stored is None:
            return status(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            return status(409, "Conflict", "the object has been modified")
        if copied(body) == copied(stored):
            return 200, copied(stored), {}  # what changes nothing makes no new version
        return 200, copied(self.put(*key, copied(body))), {}

    def _evict(self, namespace: str, name: str, body: dict[str, Any], *, dry_run: bool) -> Reply:
        pod = self.objects.get(("pods", namespace, name))
        if pod is None:
            return status(404, "NotFound", f'pods "{name}" not found')
        wanted = body["deleteOptions"]["preconditions"]["uid"]
        if wanted != pod["metadata"]["uid"]:
            return status(409, "Conflict", f"the UID in the precondition ({wanted}) does not match")
        metadata = pod["metadata"]
        if metadata["labels"].get("app") in self.forbidden:
            return status(403, "Forbidden", f"pods {name!r} is forbidden: denied by admission")
        exact = body["deleteOptions"]["preconditions"].get("resourceVersion")
        if exact is not None and exact != metadata["resourceVersion"]:
            return status(409, "Conflict", f"the resource version {exact} does not match")
        if "deletionTimestamp" not in metadata:
            counted = pod["status"]["phase"] == "Running"
            blocked = budgets.spend(self, pod, dry_run=dry_run) if counted else None
            if blocked is not None:
                return blocked
            if dry_run:
                return 201, {"kind": "Status", "status": "Success"}, {}
            self.on_accept(pod, body)
            self.accepted.append(metadata["uid"])
            gone = self.now() + timedelta(seconds=self.grace)
            metadata["deletionTimestamp"] = stamp(gone + self.offset)
            pod["goneAt"] = datetime.max.replace(tzinfo=UTC) if self.stuck(pod) else gone
            pod["status"]["conditions"].append(
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "EvictionByEvictionAPI",
                    "lastTransitionTime": stamp(self.now()),
                }
            )
            if any(reference["kind"] == "ReplicaSet" for reference in metadata["ownerReferences"]):
                self._replacement(pod)
        return 201, {"kind": "Status", "status": "Success"}, {}

    def _replacement(self, old: dict[str, Any]) -> None:
        metadata = old["metadata"]
        owner = metadata["ownerReferences"][0]
        named = owner["kind"] == "StatefulSet"
        app = metadata["labels"]["app"]
        name = metadata["name"] if named else f"{app}-r{self._version}"
        new = self.add_pod(
            name,
            "",
            owner=(owner["kind"], owner["uid"]),
            app=app,
            namespace=metadata["namespace"],
            age=timedelta(0),
        )
        steer(self, new)
        node = self.place(new)
        if node:
            self._node(node)
            new["spec"]["nodeName"] = node
            new["status"]["phase"] = "Running"
            if self.sound(new):
                new["readyAt"] = self.now() + timedelta(seconds=self.ready_after)
            else:
                self.crash(new)

    def crash(self, pod: dict[str, Any]) -> dict[str, Any]:
        """From now on the pod crash-loops."""
        return crash_loop(pod, self.now())

    def swap(self, namespace: str, name: str) -> None:
        """Somebody else replaces a Ready pod, at once and on the same node."""
        old = self.objects.get(("pods", namespace, name))
        if old is None or "deletionTimestamp" in old["metadata"] or "readyAt" in old:
            return
        if old["status"]["phase"] != "Running":
            return
        owner = old["metadata"]["ownerReferences"][0]
        del self.objects["pods", namespace, name]
        self.add_pod(
            name if owner["kind"] == "StatefulSet" else f"{name}-s{self._version}",
            old["spec"]["nodeName"],
            owner=(owner["kind"], owner["uid"]),
            app=old["metadata"]["labels"]["app"],
            namespace=namespace,
            age=timedelta(0),
        )

    def tick(self) -> None:
        """Let controllers and kubelets catch up with the time."""
        now = self.now()
        for key, value in list(self.objects.items()):
            if key[0] != "pods":
                continue
            if value.get("readyAt") and now >= value["readyAt"]:
                ready = {"type": "Ready", "status": "True"}
                ready["lastTransitionTime"] = stamp(value.pop("readyAt"))
                value["status"]["conditions"] = [ready]
                self._give_back(value)
                if self.relapse is not None:
                    value["crashAt"] = now + timedelta(seconds=self.relapse)
            if value.get("crashAt") and now >= value["crashAt"]:
                restart(value, now)
                value["readyAt"] = now + timedelta(seconds=self.ready_after)
            gone = value.get("goneAt")
            if gone is not None and now >= gone and self.objects.get(key) is value:
                del self.objects[key]
                if value["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet":
                    self._replacement(value)

        kueue.tick(self)

    def _give_back(self, pod: dict[str, Any]) -> None:
        budgets.give_back(self, pod)

"""A small cluster with the API server's manners: what acting touches, by its documented semantics.

It holds pods, PodDisruptionBudgets, Leases, ConfigMaps, Namespaces and Events as plain JSON, keeps
resourceVersions, evicts as the Eviction API does, and lets controllers replace what has gone. It
has no clock of its own and speaks no HTTP: the simulation and the fake API server are its faces.
"""

import copy
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

Reply = tuple[int, dict[str, Any], dict[str, str]]

_PATH = re.compile(
    r"^/(?:api|apis/[^/]+)/v1/namespaces(?:/(?P<ns>[^/]+)"
    r"(?:/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?)?)?$"
)


def stamp(moment: datetime) -> str:
    """A Kubernetes Time: seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def status(code: int, reason: str, message: str, **details: Any) -> Reply:
    """A failure as the API server words it."""
    seconds = details.get("retryAfterSeconds")
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    headers = {"Retry-After": str(seconds)} if seconds else {}
    return code, {**body, "details": details}, headers


class World:
    """The truth. grace, ready_after: seconds until a pod is gone, and a new one Ready.

    place: which node a replacement gets, or "" to leave it Pending. sound: whether it becomes
    Ready there; else it crash-loops.
    on_accept: called with the pod and the request of each eviction that is accepted.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.grace = 3.0
        self.ready_after = 4.0
        self.place: Callable[[dict[str, Any]], str] = lambda _: "spare"
        self.sound: Callable[[dict[str, Any]], bool] = lambda _: True
        self.on_accept: Callable[[dict[str, Any], dict[str, Any]], None] = lambda *_: None
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.accepted: list[str] = []
        self.swapped: set[str] = set()
        """UIDs of pods that somebody else replaced, and of those that came for them."""
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

    def add_pod(
        self,
        name: str,
        node: str,
        *,
        owner: tuple[str, str],
        app: str,
        namespace: str = "default",
        ready: bool = True,
    ) -> dict[str, Any]:
        """A pod of that owner (kind, UID), Running and Ready unless said otherwise."""
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": stamp(self.now()),
        }
        reference = {"kind": owner[0], "name": app, "uid": owner[1], "controller": True}
        return self.put(
            "pods",
            namespace,
            name,
            {
                "metadata": {
                    "labels": {"app": app},
                    "creationTimestamp": stamp(self.now()),
                    "ownerReferences": [reference],
                },
                "spec": {"nodeName": node, "containers": []},
                "status": {
                    "phase": "Running" if node else "Pending",
                    "conditions": [condition] if node else [],
                },
            },
        )

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
        found = _PATH.match(path)
        if found is None:
            return status(404, "NotFound", "the server could not find the requested resource")
        namespace, kind, name, sub = found.group("ns", "kind", "name", "sub")
        if kind is None:
            kind, namespace, name = "namespaces", "", namespace
        elif ("namespaces", "", namespace) not in self.objects:
            return status(404, "NotFound", f'namespaces "{namespace}" not found')
        if sub == "eviction":
            return self._evict(namespace, name, body or {})
        match method:
            case "GET":
                return self._get(kind, namespace, name)
            case "POST":
                return self._create(kind, namespace, body or {})
            case "PUT":
                return self._replace((kind, namespace, name), body or {})
        return status(405, "MethodNotAllowed", f"{method} is not allowed")

    def _get(self, kind: str, namespace: str, name: str | None) -> Reply:
        if name is not None:
            stored = self.objects.get((kind, namespace, name))
            if stored is None:
                return status(404, "NotFound", f'{kind} "{name}" not found')
            return 200, copy.deepcopy(stored), {}
        items = [v for (k, n, _), v in self.objects.items() if (k, n) == (kind, namespace)]
        return 200, {"items": copy.deepcopy(items), "metadata": {}}, {}

    def _create(self, kind: str, namespace: str, body: dict[str, Any]) -> Reply:
        name = body["metadata"]["name"]
        if (kind, namespace, name) in self.objects:
            return status(409, "AlreadyExists", f'{kind} "{name}" already exists')
        return 201, copy.deepcopy(self.put(kind, namespace, name, copy.deepcopy(body))), {}

    def _replace(self, key: tuple[str, str, str], body: dict[str, Any]) -> Reply:
        stored = self.objects.get(key)
        if stored is None:
            return status(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            return status(409, "Conflict", "the object has been modified")
        return 200, copy.deepcopy(self.put(*key, copy.deepcopy(body))), {}

    def _evict(self, namespace: str, name: str, body: dict[str, Any]) -> Reply:
        pod = self.objects.get(("pods", namespace, name))
        if pod is None:
            return status(404, "NotFound", f'pods "{name}" not found')
        wanted = body["deleteOptions"]["preconditions"]["uid"]
        if wanted != pod["metadata"]["uid"]:
            return status(409, "Conflict", f"the UID in the precondition ({wanted}) does not match")
        metadata = pod["metadata"]
        if "deletionTimestamp" not in metadata:
            blocked = self._spend_budget(pod) if pod["status"]["phase"] == "Running" else None
            if blocked is not None:
                return blocked
            self.on_accept(pod, body)
            self.accepted.append(metadata["uid"])
            metadata["deletionTimestamp"] = stamp(self.now() + timedelta(seconds=self.grace))
            pod["status"]["conditions"].append(
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "EvictionByEvictionAPI",
                    "lastTransitionTime": stamp(self.now()),
                }
            )
            if metadata["ownerReferences"][0]["kind"] == "ReplicaSet":
                self._replacement(pod)
        return 201, {"kind": "Status", "status": "Success"}, {}

    def _spend_budget(self, pod: dict[str, Any]) -> Reply | None:
        labels = pod["metadata"]["labels"]
        budgets = [
            value
            for (kind, namespace, _), value in self.objects.items()
            if kind == "poddisruptionbudgets"
            and namespace == pod["metadata"]["namespace"]
            and value["spec"]["selector"]["matchLabels"].items() <= labels.items()
        ]
        if len(budgets) > 1:
            return status(
                500,
                "InternalError",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support.",
            )
        for budget in budgets:
            name, state = budget["metadata"]["name"], budget["status"]
            text = "Cannot evict pod as it would violate the pod's disruption budget."
            if self._needs_no_budget(pod, budget):
                return None
            if state["observedGeneration"] < budget["metadata"]["generation"]:
                why = f"The disruption budget {name} is still being processed by the server."
                cause = {"reason": "DisruptionBudget", "message": why}
                return status(429, "TooManyRequests", text, causes=[cause], retryAfterSeconds=10)
            if state["disruptionsAllowed"] <= 0:
                why = f"The disruption budget {name} needs 3 healthy pods and has 3 currently"
                cause = {"reason": "DisruptionBudget", "message": why}
                return status(429, "TooManyRequests", text, causes=[cause])
            state["disruptionsAllowed"] -= 1
        return None

    def _needs_no_budget(self, pod: dict[str, Any], budget: dict[str, Any]) -> bool:
        """Whether the pod is not Ready and the budget's policy lets such pods go."""
        if any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"]["conditions"]):
            return False
        state = budget["status"]
        healthy, desired = state.get("currentHealthy", 0), state.get("desiredHealthy", 0)
        always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        return bool(always or 0 < desired <= healthy)

    def _replacement(self, old: dict[str, Any]) -> None:
        metadata = old["metadata"]
        owner = metadata["ownerReferences"][0]
        named = owner["kind"] == "StatefulSet"
        name = metadata["name"] if named else f"{owner['name']}-r{self._version}"
        new = self.add_pod(
            name,
            "",
            owner=(owner["kind"], owner["uid"]),
            app=owner["name"],
            namespace=metadata["namespace"],
        )
        node = self.place(new)
        if node:
            new["spec"]["nodeName"] = node
            new["status"]["phase"] = "Running"
            if self.sound(new):
                new["readyAt"] = self.now() + timedelta(seconds=self.ready_after)
            else:
                self.crash(new)

    def crash(self, pod: dict[str, Any]) -> dict[str, Any]:
        """From now on the pod crash-loops."""
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        pod["status"] |= {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": stamp(self.now())}
            ],
            "containerStatuses": [{"name": "main", "restartCount": 9, "state": waiting}],
        }
        return pod

    def swap(self, namespace: str, name: str) -> None:
        """Somebody else replaces a Ready pod, at once and on the same node."""
        old = self.objects.get(("pods", namespace, name))
        if old is None or "deletionTimestamp" in old["metadata"] or "readyAt" in old:
            return
        if old["status"]["phase"] != "Running":
            return
        owner = old["metadata"]["ownerReferences"][0]
        del self.objects["pods", namespace, name]
        new = self.add_pod(
            name if owner["kind"] == "StatefulSet" else f"{name}-s{self._version}",
            old["spec"]["nodeName"],
            owner=(owner["kind"], owner["uid"]),
            app=owner["name"],
            namespace=namespace,
        )
        self.swapped |= {old["metadata"]["uid"], new["metadata"]["uid"]}

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
            gone = value["metadata"].get("deletionTimestamp")
            if gone is not None and stamp(now) >= gone and self.objects.get(key) is value:
                del self.objects[key]
                if value["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet":
                    self._replacement(value)

    def _give_back(self, pod: dict[str, Any]) -> None:
        for (kind, _, _), value in self.objects.items():
            if kind == "poddisruptionbudgets":
                selector = value["spec"]["selector"]["matchLabels"]
                if selector.items() <= pod["metadata"]["labels"].items():
                    value["status"]["disruptionsAllowed"] += 1

"""A cluster that a test builds and reads."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.e2e.builders.capacity import overfull
from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.controlplane.server import ControlPlane

# Where each pod of a workload shall stand: names of nodes in the order of the pods, or counts.
Places = Sequence[str] | Mapping[str, int]


class Cluster:
    """Creates objects on a control plane, puts pods on chosen nodes, and waits."""

    def __init__(self, control_plane: ControlPlane) -> None:
        """An empty cluster on a clean control plane."""
        self.control_plane = control_plane
        self.api: Api = control_plane.api
        self._addresses = 0

    def namespace(self, name: str, labels: Mapping[str, str] | None = None) -> str:
        """Make a namespace and wait until it admits pods; answers its name."""
        metadata = {"name": name, "labels": dict(labels or {})}
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        self.until(lambda: self.control_plane.has_service_account(name), f"namespace {name}")
        return name

    def create(self, *manifests: Manifest) -> list[Manifest]:
        """Create objects at once (a list of `node(...)`, `deployment(...)`, `budget(...)`, ...).

        Nodes first; a node without InternalIP gets one of its own. Returns what was made, in the
        order given, without waiting: see `settled`.
        """
        for manifest in manifests:
            if manifest["kind"] == "Node":
                self._address(manifest)
        first = [m for m in manifests if m["kind"] == "Node"]
        made = {id(m): a for m, a in zip(first, self.api.create_all(first), strict=True)}
        rest = [m for m in manifests if m["kind"] != "Node"]
        made |= {id(m): a for m, a in zip(rest, self.api.create_all(rest), strict=True)}
        return [made[id(manifest)] for manifest in manifests]

    def _address(self, manifest: Manifest) -> None:
        addresses = manifest["status"]["addresses"]
        if not any(address["type"] == "InternalIP" for address in addresses):
            self._addresses += 1
            high, low = divmod(self._addresses, 250)
            address = f"10.1.{high}.{low + 1}"
            addresses.insert(0, {"type": "InternalIP", "address": address})

    def place(self, workload: Manifest, on: Places, deadline: float = 60) -> None:
        """Create one workload with its pods on given nodes, and wait until they are Ready."""
        self.arrange([(workload, on)], deadline)

    def arrange(self, workloads: Sequence[tuple[Manifest, Places]], deadline: float = 60) -> None:
        """Create workloads with their pods on given nodes, and wait until all are Ready.

        kube-scheduler is held still meanwhile and each pod is bound through the API, so that no
        pod stands elsewhere first. The pods of a workload take the nodes in order: by their number
        in a StatefulSet, by name elsewhere.
        ValueError where a node would be asked for more than it has.
        """
        queues = {_identity(load): dict(enumerate(_in_order(on))) for load, on in workloads}
        self._check_room(workloads)
        limit = time.monotonic() + deadline
        with self.control_plane.scheduler_paused():
            self.create(*(workload for workload, _ in workloads))
            while any(queues.values()):
                bindings = self._next_bindings(queues)
                self.api.parallel(self._bind, bindings)
                if time.monotonic() > limit:
                    left = ", ".join(f"{key}: {len(q)}" for key, q in queues.items() if q)
                    raise TimeoutError(f"pods that never came to be bound: {left}")
                time.sleep(0.1)
        self.settled(limit - time.monotonic())

    def _next_bindings(
        self, queues: dict[tuple[str, str], dict[int, str]]
    ) -> list[tuple[Any, str]]:
        pending = self.api.items("v1", "Pod", fieldSelector="spec.nodeName=")
        bindings = []
        for pod in sorted(pending, key=lambda item: str(item["metadata"]["name"])):
            metadata = pod["metadata"]
            queue = queues.get((metadata["namespace"], metadata["labels"].get("app", "")))
            if not queue:
                continue
            # A later pod of a StatefulSet may be seen before an earlier one.
            place = int(metadata["labels"].get("apps.kubernetes.io/pod-index", min(queue)))
            if place in queue:
                bindings.append((metadata, queue.pop(place)))
        return bindings

    def _bind(self, binding: tuple[Any, str]) -> None:
        metadata, node = binding
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self.api.request("POST", path, body)

    def _check_room(self, workloads: Sequence[tuple[Manifest, Places]]) -> None:
        bound = [(pod["spec"]["nodeName"], pod) for pod in self.pods() if _is_bound(pod)]
        for workload, on in workloads:
            spec = workload["spec"]
            pod = workload if workload["kind"] == "Pod" else spec["template"]
            bound += [(name, pod) for name in _in_order(on)]
        if found := overfull(self.api.items("v1", "Node"), bound):
            raise ValueError(f"these nodes would be asked for more than they have: {found}")

    def pods(self, app: str | None = None, namespace: str | None = None) -> list[Manifest]:
        """The pods that are not done, of one `app` label and namespace, or all; by name."""
        params = {} if app is None else {"labelSelector": f"app={app}"}
        items = self.api.items("v1", "Pod", namespace, **params)
        live = [p for p in items if p["status"]["phase"] not in {"Succeeded", "Failed"}]
        return sorted(live, key=lambda p: (p["metadata"]["namespace"], p["metadata"]["name"]))

    def placement(self, app: str | None = None, namespace: str | None = None) -> Counter[str]:
        """node name -> number of live pods that stand there and are not on their way out."""
        staying = [p for p in self.pods(app, namespace) if "deletionTimestamp" not in p["metadata"]]
        return Counter(p["spec"]["nodeName"] for p in staying if _is_bound(p))

    def settled(self, deadline: float = 60) -> None:
        """Wait until every node is Ready and every workload has all its pods Ready.

        TimeoutError names what is not.
        """
        self.until_empty(self._unstable, "not settled", deadline)

    def _unstable(self) -> list[str]:
        left: list[str] = []
        for kind, wanted, ready in _REPLICATED:
            items = self.api.items("apps/v1", kind)
            behind = [item for item in items if _behind(item, wanted, ready)]
            left += [f"{kind}/{item['metadata']['name']}" for item in behind]
        if left:
            return left  # the pods themselves are the dear question: they come last
        left = [f"Node/{n['metadata']['name']}" for n in self.api.items("v1", "Node") if _down(n)]
        return left + [f"Pod/{p['metadata']['name']}" for p in self.pods() if not is_ready(p)]

    def until(self, met: Callable[[], bool], what: str, deadline: float = 30) -> None:
        """Wait for a condition; TimeoutError says `what` did not come."""
        self.until_empty(lambda: [] if met() else [what], "did not come", deadline)

    def until_empty(self, left: Callable[[], list[str]], what: str, deadline: float) -> None:
        """Wait until `left()` names nothing any more; TimeoutError names the first ten."""
        limit = time.monotonic() + deadline
        while True:
            asked = time.monotonic()
            names = left()
            if not names:
                return
            answered = time.monotonic()
            if answered > limit:
                raise TimeoutError(f"{what}: {', '.join(names[:10])} ({len(names)} in all)")
            # Asking costs the API server what the cluster needs: at most a fifth of the time.
            time.sleep(max(0.1, 4 * (answered - asked)))

    def annotate(self, manifest: Manifest, **annotations: str | None) -> None:
        """Set annotations of an object that runs, as its load; None removes one."""
        self.api.patch(manifest, {"metadata": {"annotations": annotations}})


_REPLICATED = (
    ("Deployment", "replicas", "readyReplicas"),
    ("StatefulSet", "replicas", "readyReplicas"),
    ("DaemonSet", "", "numberReady"),
)


def is_ready(pod: Manifest) -> bool:
    """Whether the pod is Ready and not on its way out."""
    conditions = pod["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _behind(item: Manifest, wanted: str, ready: str) -> bool:
    status = item.get("status", {})
    if status.get("observedGeneration") != item["metadata"]["generation"]:
        return True
    target = item["spec"][wanted] if wanted else status["desiredNumberScheduled"]
    return bool(status.get(ready, 0) != target)


def _down(node: Manifest) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    taints = {taint["key"] for taint in node["spec"].get("taints", [])}
    return not ready or "node.kubernetes.io/not-ready" in taints


def _is_bound(pod: Manifest) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _identity(workload: Manifest) -> tuple[str, str]:
    metadata = workload["metadata"]
    return metadata.get("namespace", "default"), metadata["labels"]["app"]


def _in_order(on: Places) -> list[str]:
    if isinstance(on, Mapping):
        return [name for name, count in on.items() for _ in range(count)]
    return list(on)

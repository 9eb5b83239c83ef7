"""A cluster of any size as the API server would list it, made page by page."""

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from rescheduler.sources.kubernetes.transport import MAX_PAGE, GetResponse
from tests.bench.templates import CREATED, Template, pod_text, reference, uid

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PAGE = 500
NODE_CPU, NODE_MEMORY, NODE_GPUS, NODE_PODS = 64_000, 512 * 1024, 8, 110
DAEMON_SETS = 4


class Fleet:
    """Nodes in three zones, every fifth with GPUs; pods placed evenly by their requests."""

    def __init__(self, nodes: int, pods: int, templates: int = 2_000, seed: int = 1) -> None:
        self.nodes = nodes
        self._random = random.Random(seed)
        self.templates = self._templates(pods, templates)
        self.placement = self._place()
        self._lists: dict[str, Callable[[], Iterator[str]]] = {
            "/api/v1/pods": self._pods,
            "/api/v1/nodes": self._nodes,
            "/api/v1/namespaces": self._namespaces,
            "/api/v1/services": self._services,
            "/apis/policy/v1/poddisruptionbudgets": self._budgets,
            "/apis/apps/v1/replicasets": lambda: self._controllers("ReplicaSet"),
            "/apis/apps/v1/deployments": lambda: self._controllers("Deployment"),
            "/apis/apps/v1/statefulsets": lambda: self._controllers("StatefulSet"),
            "/apis/apps/v1/daemonsets": lambda: self._controllers("DaemonSet"),
        }
        self._open: dict[str, Iterator[str]] = {}

    name = "synthetic"

    def fetch(
        self,
        path: str,
        query: dict[str, str] | None = None,
        until: float | None = None,
        *,
        most: int = MAX_PAGE,
    ) -> GetResponse:
        """What a Connection answers: pages of 500, made when they are asked for."""
        if path == "/version":
            return _answer(json.dumps({"gitVersion": "v1.36.3"}))
        if not (query or {}).get("continue"):
            self._open[path] = self._lists.get(path, lambda: iter(()))()
        items = []
        for item in self._open[path]:
            items.append(item)
            if len(items) == PAGE:
                break
        page = int((query or {}).get("continue", 0)) + 1
        token = f',"continue":"{page}"' if len(items) == PAGE else ""
        return _answer(
            f'{{"metadata":{{"resourceVersion":"1"{token}}},"items":[{",".join(items)}]}}'
        )

    def _templates(self, pods: int, templates: int) -> list[Template]:
        daemons = [Template(n, "DaemonSet", self.nodes, 50, 64) for n in range(DAEMON_SETS)]
        room = pods - DAEMON_SETS * self.nodes
        gpu_room = self.nodes // 5 * NODE_GPUS * 6 // 10
        made: list[Template] = []
        for number in range(templates):
            left = templates - number
            replicas = min(room, max(1, round(self._random.expovariate(left / max(room, 1)))))
            replicas = room if left == 1 else replicas
            gpus = 1 if number % 6 == 0 and replicas <= gpu_room else 0
            kind = "StatefulSet" if number % 10 == 9 else "Deployment"
            cpu, memory = self._random.choice((100, 250, 500, 1000)), 512
            made.append(Template(number, kind, replicas, cpu, memory, gpus))
            room -= replicas
            gpu_room -= gpus * replicas
        return daemons + [template for template in made if template.replicas > 0]

    def _place(self) -> list[list[int]]:
        """Node of each pod by template: the next of a shuffled ring that still has room."""
        ring = list(range(self.nodes))
        self._random.shuffle(ring)
        cpu, gpu, count = [NODE_CPU] * self.nodes, [0] * self.nodes, [NODE_PODS] * self.nodes
        gpu[::5] = [NODE_GPUS] * len(gpu[::5])
        at, answer = 0, []
        for template in self.templates:
            if template.kind == "DaemonSet":
                answer.append(list(range(self.nodes)))
                count = [free_pods - 1 for free_pods in count]
                cpu = [free_cpu - template.cpu - 20 for free_cpu in cpu]
                continue
            on = []
            for _ in range(template.replicas):
                for _ in range(self.nodes):
                    at = (at + 1) % self.nodes
                    node = ring[at]
                    if cpu[node] > template.cpu and gpu[node] >= template.gpus and count[node]:
                        break
                cpu[node] -= template.cpu + 20
                gpu[node] -= template.gpus
                count[node] -= 1
                on.append(node)
            answer.append(on)
        return answer

    def _pods(self) -> Iterator[str]:
        serial = 0
        for template, placed in zip(self.templates, self.placement, strict=True):
            text = pod_text(template)
            for number, node in enumerate(placed):
                serial += 1
                yield (
                    text.replace("@NAME@", f"{template.owner[1]}-{number}")
                    .replace("@NODE@", f"node-{node}")
                    .replace("@N@", f"{serial:012d}")
                )

    def _nodes(self) -> Iterator[str]:
        images = [
            {"names": [f"registry.example/image-{n}@sha256:{'ef' * 32}",
                       f"registry.example/image-{n}:1"], "sizeBytes": 10_000_000 + n}
            for n in range(300)
        ]  # fmt: skip
        for number in range(self.nodes):
            room = {"cpu": "64", "memory": f"{NODE_MEMORY}Mi", "pods": str(NODE_PODS)}
            if number % 5 == 0:
                room["nvidia.com/gpu"] = str(NODE_GPUS)
            name = f"node-{number}"
            labels = {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
                "node.kubernetes.io/instance-type": "gpu-8" if number % 5 == 0 else "general",
            }
            yield _text(
                name,
                labels=labels,
                spec={"podCIDR": "10.0.0.0/24"},
                status={
                    "allocatable": room,
                    "capacity": room,
                    "addresses": [
                        {"type": "InternalIP", "address": f"10.{number // 250}.{number % 250}.1"}
                    ],
                    "conditions": [
                        {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
                    ],
                    "images": [images[(number + n) % len(images)] for n in range(40)],
                },
            )  # fmt: skip

    def _namespaces(self) -> Iterator[str]:
        for name in ["kube-system", "default", *(f"team-{n}" for n in range(100))]:
            yield _text(name, uid=f"namespace-{name}", labels={"kubernetes.io/metadata.name": name})

    def _services(self) -> Iterator[str]:
        for template in self.templates[::2]:
            selector = {"app.kubernetes.io/name": template.name}
            yield _text(template.name, template.namespace, spec={"selector": selector})

    def _budgets(self) -> Iterator[str]:
        for template in self.templates:
            if template.kind != "DaemonSet" and template.number % 3 == 0:
                yield _text(
                    template.name,
                    template.namespace,
                    spec={
                        "maxUnavailable": 1,
                        "selector": {"matchLabels": {"app.kubernetes.io/name": template.name}},
                    },
                    status={
                        "observedGeneration": 1,
                        "disruptionsAllowed": 1,
                        "currentHealthy": template.replicas,
                        "desiredHealthy": template.replicas - 1,
                        "expectedPods": template.replicas,
                    },
                )

    def _controllers(self, kind: str) -> Iterator[str]:
        for template in self.templates:
            name = template.owner[1] if kind == "ReplicaSet" else template.name
            if kind not in (template.kind, template.owner[0]):
                continue
            above = [reference("Deployment", template.name)] if kind == "ReplicaSet" else []
            n = template.replicas
            yield _text(
                name,
                template.namespace,
                uid=uid(kind, name),
                ownerReferences=above,
                spec={
                    "replicas": n,
                    "selector": {"matchLabels": {"app.kubernetes.io/name": template.name}},
                    "template": _template(template),
                },
                status={"replicas": n, "readyReplicas": n, "updatedReplicas": n,
                        "availableReplicas": n, "observedGeneration": 1,
                        "desiredNumberScheduled": n, "numberReady": n},
            )  # fmt: skip


def _template(template: Template) -> dict[str, Any]:
    """What its controller makes pods from: a pod without a name and a node."""
    spec = json.loads(pod_text(template))["spec"]
    del spec["nodeName"]
    return {"metadata": {"labels": {"app.kubernetes.io/name": template.name}}, "spec": spec}


def _text(
    name: str,
    namespace: str = "",
    *,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> str:
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "generation": 1,
        "creationTimestamp": CREATED,
        **metadata,
    }
    return json.dumps({"metadata": meta, "spec": spec or {}, "status": status or {}})


def _answer(text: str) -> GetResponse:
    return GetResponse(200, text.encode(), NOW, NOW, NOW)

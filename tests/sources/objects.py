"""Objects as the API server lists them, and a server that lists them page by page."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.sources.server import Reply, Request

CANARY = "canary-that-must-not-be-recorded"
DATE = "Sat, 21 Nov 2026 12:00:00 GMT"
CREATED = "2026-11-20T12:00:00Z"


def node(name: str, **status: Any) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED},
        "spec": {},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready], **status},
    }


def pod(name: str, on: str, **spec: Any) -> dict[str, Any]:
    """A pod that is full of what must not be kept."""
    serial = abs(hash(name)) % 10**5
    secret = {"secretKeyRef": {"name": CANARY, "key": CANARY}}
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "creationTimestamp": CREATED,
            "labels": {"app": "web"},
            "annotations": {
                "note": CANARY,
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            },
            "ownerReferences": [
                {"kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
            ],
            "managedFields": [{"manager": CANARY}],
        },
        "spec": {
            "nodeName": on,
            "containers": [
                {
                    "name": "main",
                    "image": "app:1",
                    "command": [CANARY],
                    "args": [CANARY],
                    "env": [
                        {"name": "PASSWORD", "value": CANARY},
                        {"name": "B", "valueFrom": secret},
                    ],
                    "resources": {"requests": {"cpu": "100m"}},
                }
            ],
            "volumes": [
                {"name": f"kube-api-access-{serial}", "projected": {"sources": []}},
                {"name": "s", "secret": {"secretName": CANARY}},
                {"name": "c", "configMap": {"name": CANARY}},
                {"name": "scratch", "emptyDir": {}},
            ],
            **spec,
        },
        "status": {
            "phase": "Running",
            "startTime": CREATED,
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": CREATED},
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": CREATED},
            ],
        },
    }


def named(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}, **more}


_ONE_OBJECT = re.compile(r"/configmaps/[^/]+$")


class Api:
    """Lists by path, and no ConfigMap. `fail` may answer a request first; None lets it through."""

    def __init__(self, lists: dict[str, list[dict[str, Any]]], page: int = 500) -> None:
        self.lists = {"/api/v1/namespaces": [named("kube-system")], **lists}
        self.page = page
        self.served = {
            "resource.k8s.io/v1": [
                "deviceclasses",
                "devicetaintrules",
                "resourceclaims",
                "resourceclaimtemplates",
                "resourceslices",
            ],
            "topology.node.k8s.io/v1alpha2": ["noderesourcetopologies"],
            "scheduling.k8s.io/v1beta1": ["podgroups"],
            "scheduling.x-k8s.io/v1alpha1": ["podgroups"],
            "scheduling.volcano.sh/v1beta1": ["podgroups"],
            "scheduling.run.ai/v2alpha2": ["podgroups"],
            "jobset.x-k8s.io/v1alpha2": ["jobsets"],
            "leaderworkerset.x-k8s.io/v1": ["leaderworkersets"],
            "kueue.x-k8s.io/v1beta2": ["workloads", "clusterqueues", "localqueues"],
        }
        """Group and version to what discovery says of it; built-in kinds are not asked for."""
        self.fail: Callable[[Request], Reply | None] = lambda _request: None

    def __call__(self, request: Request) -> Reply:
        failed = self.fail(request)
        if failed is not None:
            return failed
        if request.path == "/version":
            return reply({"gitVersion": "v1.36.3"})
        if request.path == "/apis":
            groups = [
                {"versions": [{"groupVersion": served_version}]} for served_version in self.served
            ]
            return reply({"kind": "APIGroupList", "groups": groups})
        group_version = request.path.removeprefix("/apis/")
        if group_version in self.served:
            resources = [{"name": resource} for resource in self.served[group_version]]
            return reply({"kind": "APIResourceList", "resources": resources})
        if request.path.endswith("/selfsubjectaccessreviews"):
            return reply({"status": {"allowed": True}}, 201)
        if _ONE_OBJECT.search(request.path):
            return refusal(404, "not found")
        items = self.lists.get(request.path, [])
        start = int(request.query.get("continue", 0))
        end = start + self.page
        token = {"continue": str(end)} if end < len(items) else {}
        return reply({"metadata": {"resourceVersion": "1", **token}, "items": items[start:end]})


def reply(document: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(document).encode(), status, {"Date": DATE, **headers})


def refusal(status: int, message: str, **headers: str) -> Reply:
    return reply({"kind": "Status", "code": status, "message": message}, status, **headers)

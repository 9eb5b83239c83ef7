"""Kueue as acting meets it: a Workload that is deleted, its job suspended, and queued again.

Held against Kueue's code, and against the real one by tests/e2e/test_kueue.py: the finalizer keeps
the Workload until its job was stopped; all its pods go at once, whatever budgets say; and once none
is left there is a new Workload of the same name, and as many new pods.
Source: pkg/controller/jobframework/reconciler.go of Kueue v0.14, see `rescheduler.kube.kueue`.
"""

import copy
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.fakes.manners import Reply, stamp, status

if TYPE_CHECKING:
    from tests.fakes.world import World

_PATH = re.compile(
    r"^/apis/kueue.x-k8s.io/v1beta2/namespaces/(?P<ns>[^/]+)/(?P<kind>workloads|localqueues)"
    r"(?:/(?P<name>[^/]+))?$"
)
_LISTS = re.compile(r"^/apis/kueue.x-k8s.io/v1beta2/(?P<kind>workloads|clusterqueues|localqueues)$")
ADMITTED = [{"type": condition, "status": "True"} for condition in ("QuotaReserved", "Admitted")]


@dataclass
class Kueue:
    """may: whether Workloads may be deleted. sees: seconds until Kueue sees that one was.

    on_stop: called with each Workload whose deletion is accepted; stopped: their UIDs.
    """

    may: bool = True
    sees: float = 1.0
    on_stop: Callable[[dict[str, Any]], None] = lambda _: None
    stopped: list[str] = field(default_factory=list)


def workload(job: str, uid: str, *, pods: int, kind: str = "Job") -> dict[str, Any]:
    """The manifest of the admitted Workload that Kueue v0.8 and later makes for this job."""
    version = "batch/v1" if kind == "Job" else "jobset.x-k8s.io/v1alpha2"
    text = f"{kind}\n{version.partition('/')[0]}\n{job}\n{uid}"
    digits = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:5]
    owner = {"apiVersion": version, "kind": kind, "name": job, "uid": uid, "controller": True}
    flavors = {"cpu": "default"}
    pod_set = {"name": "main", "count": pods, "topologyRequest": {"podIndexLabel": "index"}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "metadata": {
            "name": f"{kind.lower()}-{job}-{digits}",
            "namespace": "default",
            "ownerReferences": [owner],
        },
        "spec": {"queueName": "team", "active": True, "podSets": [pod_set]},
        "status": {
            "conditions": copy.deepcopy(ADMITTED),
            "admission": {"clusterQueue": "all", "podSetAssignments": [{"flavors": flavors}]},
        },
    }


def queue(
    *, total: str, quota: str = "8", name: str = "all"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A ClusterQueue of one flavor, of whose quota `total` is held, and the LocalQueue to it."""
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": quota}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
    used = [{"name": "default", "resources": [{"name": "cpu", "total": total}]}]
    active = [{"type": "Active", "status": "True"}]
    return (
        {
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
            "status": {"conditions": active, "flavorsReservation": used},
        },
        {"spec": {"clusterQueue": name}},
    )


def answer(
    world: "World", method: str, path: str, query: str, body: dict[str, Any] | None
) -> Reply | None:
    """The answer to a request for Workloads or queues; None: it is for something else."""
    listed = _LISTS.match(path)
    if listed is not None and method == "GET":
        of_kind = [v for (kind, _, _), v in world.objects.items() if kind == listed["kind"]]
        return 200, {"items": copy.deepcopy(of_kind), "metadata": {}}, {}
    found = _PATH.match(path)
    if found is None:
        return None
    namespace, name = found["ns"], found["name"]
    if method == "GET" and name is None:
        wanted = dict(parse_qsl(query)).get("fieldSelector", "").removeprefix("metadata.name=")
        items = [
            copy.deepcopy(value)
            for (kind, ns, named), value in world.objects.items()
            if (kind, ns) == (found["kind"], namespace) and wanted in ("", named)
        ]
        return 200, {"items": items, "metadata": {}}, {}
    if method != "DELETE":
        return status(405, "MethodNotAllowed", f"{method} is not allowed")
    if not world.kueue.may:
        return status(403, "Forbidden", f'workloads "{name}" is forbidden')
    stored = world.objects.get(("workloads", namespace, name))
    if stored is None:
        return status(404, "NotFound", f'workloads "{name}" not found')
    for field_name, value in ((body or {}).get("preconditions") or {}).items():
        if value != stored["metadata"][field_name]:
            return status(409, "Conflict", f"the {field_name} in the precondition does not match")
    if "deletionTimestamp" not in stored["metadata"]:
        world.kueue.on_stop(stored)
        stored["metadata"]["deletionTimestamp"] = stamp(world.now() + world.offset)
        stored["seenAt"] = world.now() + timedelta(seconds=world.kueue.sees)
        world.kueue.stopped.append(stored["metadata"]["uid"])
    return 200, copy.deepcopy(stored), {}


def tick(world: "World") -> None:
    """Let Kueue catch up: suspend what was deleted, and queue again what has no pods left."""
    now = world.now()
    for key, value in list(world.objects.items()):
        if key[0] != "workloads":
            continue
        pods = pods_of(world, value["metadata"]["ownerReferences"][0]["uid"])
        if "seenAt" in value and now >= value["seenAt"]:
            del value["seenAt"]
            value["suspended"] = [copy.deepcopy(pod) for pod in pods]
            for pod in pods:
                gone = now + timedelta(seconds=world.grace)
                pod["metadata"]["deletionTimestamp"] = stamp(gone + world.offset)
                pod["goneAt"] = gone
        elif "suspended" in value and not pods:
            before = value["suspended"]
            fresh = {k: v for k, v in value.items() if k != "suspended"}
            fresh["metadata"] = {
                k: v
                for k, v in value["metadata"].items()
                if k not in ("uid", "deletionTimestamp", "resourceVersion")
            }
            world.put(*key, fresh)
            for pod in before:
                world._replacement(pod)


def pods_of(world: "World", uid: str) -> list[dict[str, Any]]:
    """The pods of the controller with this UID."""
    return [
        value
        for (kind, _, _), value in world.objects.items()
        if kind == "pods" and value["metadata"]["ownerReferences"][0]["uid"] == uid
    ]

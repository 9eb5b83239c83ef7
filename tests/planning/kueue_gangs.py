"""Gangs that Kueue runs."""

from collections.abc import Callable
from typing import Any

import msgspec

from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Plan
from tests.cluster import controller, node, pod, snapshot
from tests.fakes import kueue
from tests.planning.gang_worlds import in_one_rack, planned

State = dict[str, Any]


def state() -> State:
    """The objects of Kueue as JSON: a Workload, its queues."""
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": 8}]}
    used = [{"name": "default", "resources": [{"name": "cpu", "total": "3"}]}]
    return {
        "workloads": [kueue.workload("train", "job-train", pods=3)],
        "queue": {
            "metadata": {"name": "all"},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
            },
            "status": {
                "conditions": [{"type": "Active", "status": "True"}],
                "flavorsReservation": used,
            },
        },
        "local": {
            "metadata": {"name": "team", "namespace": "default"},
            "spec": {"clusterQueue": "all"},
        },
        "more": [],
    }


def cluster(made: State, **more: Any) -> Snapshot:
    """A Job of three pods over two racks that are full, and a rack with room for all of it."""
    small = [node(f"r{n}-1", labels={"rack": f"r{n}"}, allocatable={"cpu": "2"}) for n in (1, 2)]
    large = [node("r3-1", labels={"rack": "r3"}, allocatable={"cpu": "8"})]
    owner = controller("Job", "train", parallelism=3, completions=3, completionMode="Indexed")
    owner.metadata.uid, owner.status.ready = "job-train", 3
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r3"]}]}
    liked = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]
    }
    pods = [
        pod(
            f"train-{n}",
            on,
            owner=owner,
            labels={"app": "train"},
            requests={"cpu": "1"},
            affinity={"nodeAffinity": liked},
        )
        for n, on in enumerate(["r1-1", "r1-1", "r2-1"])
    ]
    for number, workload in enumerate(made["workloads"]):
        workload["metadata"].setdefault("uid", f"workload-{number}")
    queues = [
        made["queue"],
        *(manifest for manifest in made["more"] if "resourceGroups" in manifest["spec"]),
    ]
    locals_ = [
        made["local"],
        *(manifest for manifest in made["more"] if "clusterQueue" in manifest["spec"]),
    ]
    return snapshot(
        [*small, *large],
        pods,
        controllers=[owner],
        gang_objects=[msgspec.convert(workload, GangObject) for workload in made["workloads"]],
        cluster_queues=[msgspec.convert(queue, ClusterQueue) for queue in queues],
        local_queues=[msgspec.convert(local, LocalQueue) for local in locals_],
        **more,
    )


def made(change: Callable[[State], object] = lambda _: None, **limits: Any) -> Plan:
    objects = state()
    change(objects)
    chosen = {"gangs": "Whole", "kueue": "Restart", **limits}
    return planned(cluster(objects), in_one_rack(), **chosen)

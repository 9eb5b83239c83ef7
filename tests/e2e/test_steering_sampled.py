"""Where kube-scheduler looks at a sample of the nodes: what Prefer misses, and Require does not."""

import math
from collections import Counter
from typing import Any, get_args

import numpy as np
import pytest

from rescheduler.actions.steering.steering_format import encode_entries
from rescheduler.model.moves.steering_entry import SteeringEntry, Strength
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugin import Steer
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.cluster import read_cluster
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.controlplane.api import Manifest
from tests.e2e.loop import NAMESPACE
from tests.e2e.steering import install_policy, told
from tests.e2e.steering_entries import entry, fill

pytestmark = pytest.mark.e2e

NODES, PODS = 300, 100
CHOSEN = ("n40", "n41")


def test_misses_of_prefer_are_as_predicted_and_require_has_none(cluster: Cluster) -> None:
    cluster.create(*nodes(NODES, cpu=64, memory="256Gi", zones=["a", "b", "c"]))
    cluster.namespace(NAMESPACE)
    install_policy(cluster)
    owners = {arg: _owner(cluster, arg) for arg in get_args(Strength)}
    fill(cluster, encode_entries([_entry(owners[arg], arg) for arg in get_args(Strength)]))
    cluster.until(lambda: bool(told(_dry(cluster, owners["Require"]))), "the policy", 30)
    cluster.settled()

    made = {
        strength: [_pod(owner, f"{strength}-{n}".lower()) for n in range(PODS)]
        for strength, owner in owners.items()
    }
    misses: Counter[str] = Counter()
    for strength, pods in made.items():
        cluster.create(*pods)
        cluster.settled()
        placed = cluster.pods(app=strength.lower())
        assert all(told(pod) == set(CHOSEN) for pod in placed)
        misses[strength] = sum(pod["spec"]["nodeName"] not in CHOSEN for pod in placed)
        assert len(placed) == PODS
    expected = PODS * (1 - _predicted(cluster))
    deviation = math.sqrt(expected * (1 - expected / PODS))

    assert misses["Require"] == 0
    assert expected > 5, "the scheduler does not sample"
    assert abs(misses["Prefer"] - expected) <= 4 * deviation, (misses, expected)


def _predicted(cluster: Cluster) -> float:
    """The probability that a replacement that prefers the chosen nodes lands on one of them."""
    snapshot = read_cluster(connect(cluster.control_plane.kubeconfig, None))
    pod = next(
        n for n, pod_object in enumerate(snapshot.pods) if pod_object.metadata.name == "prefer-0"
    )
    # The model knows when a ReplicaSet replaces a pod, so its owner counts as one.
    (owner,) = snapshot.pods[pod].metadata.ownerReferences or []
    owner.kind, owner.apiVersion = "ReplicaSet", "apps/v1"
    snapshot.pods[pod].spec.affinity = None
    chosen = np.isin([node.metadata.name for node in snapshot.nodes], CHOSEN)
    model = SchedulerModel(snapshot, schedulers_of(snapshot).profiles)
    steer = Steer.to_nodes(np.flatnonzero(chosen).tolist(), len(chosen), require=False)
    landing = model.landing(pod, steer)
    assert landing.refusal is None, landing.refusal
    return float(landing.probabilities[chosen[landing.nodes]].sum())


def _owner(cluster: Cluster, name: str) -> Manifest:
    """What stands for a controller: an object that exists, so that its pods are not collected."""
    metadata = {"name": f"owner-{name.lower()}", "namespace": "default"}
    (made,) = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    return made


def _entry(owner: Manifest, strength: Strength) -> SteeringEntry:
    return entry(
        owner["metadata"]["uid"], template="", hostnames=CHOSEN, strength=strength, pod=strength
    )


def _pod(owner: Manifest, name: str) -> Manifest:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    requests = {"cpu": "50m", "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": name.split("-", 1)[0]},
            "ownerReferences": [reference],
        },
        "spec": {
            "containers": [{"name": "c", "image": "pause", "resources": {"requests": requests}}]
        },
    }


def _dry(cluster: Cluster, owner: Manifest) -> Any:
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    return cluster.api.request("POST", path, _pod(owner, "dry-0"))

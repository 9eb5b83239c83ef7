"""Device classes and claims on the real control plane, and what becomes of them."""

from typing import Any

import numpy as np

from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.cluster import read_cluster
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.workloads import bare_pod

API = "resource.k8s.io/v1"


def decide(cluster: Cluster, wanted: dict[str, str]) -> dict[str, bool]:
    """Let kube-scheduler place pods with these templates; what is predicted of each before."""
    with cluster.control_plane.scheduler_paused():
        cluster.create(*(probe(name, template) for name, template in wanted.items()))
        cluster.until(lambda: unclaimed(cluster) == set(), "a claim for each pod", 120)
        predicted = predictions(cluster)
    cluster.until(lambda: decided(cluster) >= predicted.keys(), "decisions", 120)
    return predicted


def predictions(cluster: Cluster) -> dict[str, bool]:
    """Name of each pod that waits for the first time, and whether its node is feasible."""
    before = decided(cluster)
    snapshot = read_cluster(connect(cluster.control_plane.kubeconfig, None))
    model = SchedulerModel(snapshot, schedulers_of(snapshot).profiles)
    answer = {}
    for number, pod in enumerate(snapshot.pods):
        if pod.metadata.name not in before and not pod.node:
            refusal = model.landing(number).refusal
            assert refusal is None or refusal.code != "FEA005", refusal
            answer[pod.metadata.name] = bool(np.any(model.feasible(number)))
    return answer


def decided(cluster: Cluster) -> set[str]:
    """The pods that kube-scheduler has tried to place when their claims were there."""
    pods = cluster.pods()
    return {
        pod["metadata"]["name"]
        for pod in pods
        if pod["spec"].get("nodeName")
        or any(
            condition["type"] == "PodScheduled"
            and "nodes are available" in condition.get("message", "")
            for condition in pod["status"].get("conditions", [])
        )
    }


def unclaimed(cluster: Cluster) -> set[str]:
    """The pods whose claim the controller manager has not made."""
    return {
        pod["metadata"]["name"]
        for pod in cluster.pods()
        if not pod["status"].get("resourceClaimStatuses")
    }


def probe(name: str, template: str) -> dict[str, Any]:
    """A pod for the node that it is named after."""
    node = name.partition("-")[0]
    made = bare_pod(name, node_selector={"kubernetes.io/hostname": node})
    made["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimTemplateName": template}]
    return made


def device_class(name: str, driver: str) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
    }

"""Services, webhooks and the pods behind them."""

from typing import Any

import msgspec

from rescheduler.kube.controllers import Service
from rescheduler.kube.extensions import WebhookConfiguration
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.dependencies import Address, Dependencies
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.limits import Limits
from tests.cluster import deployment, node, pod, snapshot

SPACES = {"metrics": "monitoring", "hook": "policy", "api": "custom", "web": "default"}
"""Workload to its namespace."""


def service(name: str, namespace: str, selects: str = "", **spec: Any) -> Service:
    """A Service over label `app`."""
    selector = {"app": selects} if selects else None
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": selector, "type": "ClusterIP", **spec},
        },
        Service,
    )


def webhooks(**config: Any) -> list[WebhookConfiguration]:
    made = {
        "metadata": {"name": "guard"},
        "webhooks": [{"name": "pods.guard.io", "clientConfig": config}],
    }
    return [msgspec.convert(made, WebhookConfiguration)]


def cluster(*services: Service, **more: Any) -> Snapshot:
    """Two pods of each workload, each in its own namespace."""
    pods, controllers = [], []
    for app, namespace in SPACES.items():
        top, owner = deployment(app, namespace=namespace, replicas=2)
        controllers += [top, owner]
        pods += [
            pod(f"{app}-{i}", f"n{i}", owner=owner, labels={"app": app}, namespace=namespace)
            for i in range(2)
        ]
    nodes = [node("n0"), node("n1")]
    return snapshot(nodes, pods, controllers=controllers, services=services, **more)


def asking(host: str, namespace: str = "rescheduler") -> Dependencies:
    return Dependencies((Address(host, namespace, "Prometheus at http://there"),))


def refused(before: Snapshot) -> dict[str, str]:
    """Workload to why its pods are needed; all pods of one are, or none."""
    asked = Eligibility(before, Limits(), History())
    found: dict[str, str] = {}
    for number, pod_object in enumerate(before.pods):
        problem = asked.refusal(number)
        app = (pod_object.metadata.labels or {})["app"]
        assert problem is None or problem.code == "ELG019"
        message = problem.message if problem else ""
        assert found.setdefault(app, message) == message
    return {app: message for app, message in found.items() if message}


METRICS = service("prom", "monitoring", "metrics", clusterIP="10.96.0.7", clusterIPs=["fd00::7"])


def label(before: Snapshot, app: str, **labels: str) -> Snapshot:
    for pod_object in before.pods:
        if (pod_object.metadata.labels or {})["app"] == app:
            pod_object.metadata.labels = {"app": app, **labels}
    return before

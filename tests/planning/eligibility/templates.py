"""Pods beside the template of their owner."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.limits import Limits
from tests.cluster import NOW, controller, node, pod, snapshot

Json = dict[str, Any]
HOUR = timedelta(hours=1)
TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}


def template(*, labels: Mapping[str, str] | None = None, cpu: str = "100m", **spec: Any) -> Json:
    """A template like the pods of `of`, but for these fields of its spec or its container."""
    own = {"image", "resources", "ports", "securityContext"} & spec.keys()
    of_container = {key: spec.pop(key) for key in sorted(own)}
    requests: Json = {"requests": {"cpu": cpu}} if cpu else {}
    container = {"name": "main", "image": "app:1", "resources": requests, **of_container}
    return {
        "metadata": {"labels": {"app": "web", **(labels or {})}},
        "spec": {"containers": [container], **spec},
    }


def alone(kind: str = "ReplicaSet", **more: Any) -> Controller:
    """A controller without an owner, whose template may have been edited."""
    return controller(kind, "web", template=template(**more))


def of(owner: Controller, number: int, age: timedelta = 24 * HOUR, **more: Any) -> Pod:
    """A Ready pod of that controller, made so long ago."""
    more.setdefault("labels", {"app": "web"})
    made = pod(f"web-{number}", "n1", owner=owner, **more)
    made.metadata.creationTimestamp = NOW - age
    return made


def cluster(owner: Controller, pods: Iterable[Pod], *above: Controller, **more: Any) -> Snapshot:
    return snapshot([node("n1"), node("n2")], pods, controllers=[*above, owner], **more)


def verdict(before: Snapshot, number: int = 0) -> Problem | None:
    """What eligibility says of one pod, asked alone and among all."""
    asked = Eligibility(before, Limits.model_validate({"minPodAge": "1m"}), History())
    alone = asked.refusal(number)
    many = asked.refusals(before.pod_workload * 0 + range(len(before.pods)))
    assert many.get(number) == alone
    return alone


def code(before: Snapshot, number: int = 0) -> str:
    found = verdict(before, number)
    return found.code if found is not None else ""

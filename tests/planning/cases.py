"""One stable pod in a stable cluster, and what to change about it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import msgspec

from rescheduler.kube.controllers import Controller, HorizontalPodAutoscaler
from rescheduler.kube.objects import Node, Pod
from rescheduler.kube.storage import PersistentVolume, PersistentVolumeClaim
from rescheduler.model.cluster.snapshot import Snapshot, Undecodable
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.eligibility.eligibility import refusal
from rescheduler.policies.limits import Limits
from tests.cluster import LONG_AGO, NOW, controller, deployment, node, pod, snapshot


@dataclass
class Case:
    """A snapshot of three pods of one Deployment `web`, of which the first is asked about."""

    snapshot: Snapshot
    limits: Limits
    history: History

    @property
    def pod(self) -> Pod:
        return self.snapshot.pods[0]

    @property
    def top(self) -> Controller:
        return self.snapshot.controllers[0]

    @property
    def node(self) -> Node:
        return self.snapshot.nodes[0]

    def limit(self, **changed: Any) -> None:
        self.limits = Limits.model_validate(changed)

    def rename(self, namespace: str) -> None:
        """Let all of it be in another namespace."""
        for pod_object in self.snapshot.pods:
            pod_object.metadata.namespace = namespace
        for owner in self.snapshot.controllers:
            owner.metadata.namespace = namespace
        for known in self.snapshot.namespaces:
            known.metadata.name = namespace

    def annotate(self, **values: str) -> None:
        self.pod.metadata.annotations = dict(values)

    def own(self, kind: str, **spec: Any) -> Controller:
        """Let all pods belong to one controller of another kind."""
        made = controller(kind, "other", replicas=3, **spec)
        for pod_object in self.snapshot.pods:
            owner = (pod_object.metadata.ownerReferences or [])[0]
            owner.kind, owner.name, owner.uid = kind, "other", made.metadata.uid
        self.snapshot.controllers[:] = [made]
        return made

    def mount(self, **volume: Any) -> None:
        self.pod.spec = msgspec.convert(
            msgspec.to_builtins(self.pod.spec) | {"volumes": [{"name": "data", **volume}]},
            type(self.pod.spec),
        )

    def claim(self, *, modes: list[str] | None = None, nodes: list[str] | None = None) -> None:
        """A claim bound to a volume that only these nodes reach."""
        self.mount(persistentVolumeClaim={"claimName": "disk"})
        required = {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
                    ]
                }
            ]
        }
        claim = {
            "metadata": {"name": "disk", "namespace": "default"},
            "spec": {"volumeName": "pv", "accessModes": modes or ["ReadWriteOnce"]},
        }
        volume = {
            "metadata": {"name": "pv"},
            "spec": {"nodeAffinity": {"required": required} if nodes else None},
        }
        self.snapshot.claims.append(msgspec.convert(claim, PersistentVolumeClaim))
        self.snapshot.volumes.append(msgspec.convert(volume, PersistentVolume))

    def scale(self, kind: str = "Deployment", name: str = "web", **status: Any) -> None:
        """An autoscaler over the Deployment, or over what else is named."""
        made = {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"scaleTargetRef": {"kind": kind, "name": name}, "maxReplicas": 9},
            "status": status,
        }
        self.snapshot.autoscalers.append(msgspec.convert(made, HorizontalPodAutoscaler))

    def condition(self, kind: str, status: str = "True", since: str = LONG_AGO) -> None:
        """Set one condition of the pod."""
        fresh = {"type": kind, "status": status, "lastTransitionTime": since}
        old = [c for c in self.pod.status.conditions or [] if c.type != kind]
        made: Any = msgspec.convert(
            {"conditions": [*msgspec.to_builtins(old), fresh]}, type(self.pod.status)
        )
        self.pod.status.conditions = made.conditions

    def past(self, **changed: Any) -> None:
        """A move of the same workload, ten minutes ago and settled, unless said otherwise."""
        fields: dict[str, Any] = {
            "plan": "earlier",
            "podUid": "gone",
            "namespace": "default",
            "pod": "web-9",
            "workload": self.top.metadata.uid,
            "source": "n2",
            "at": NOW - timedelta(minutes=10),
            "state": "ready",
        }
        self.history.moves.append(PastMove(**(fields | changed)))

    def undecodable(self, kind: str) -> None:
        self.snapshot.undecodable.append(Undecodable(kind, "default", "odd", "not an object"))

    def verdict(self) -> str:
        found = refusal(self.snapshot, 0, self.limits, self.history)
        if found is None:
            return ""
        assert found.message
        return found.code


def settled(change: Callable[[Case], object] = lambda case: None) -> Case:
    """The stable case, changed."""
    top, owner = deployment("web")
    pods = [pod(f"web-{i}", f"n{i + 1}", owner=owner, labels={"app": "web"}) for i in range(3)]
    made = snapshot(
        [node(f"n{i}") for i in range(1, 5)],
        msgspec.convert(msgspec.to_builtins(pods), list[Pod]),
        controllers=[top, owner],
    )
    case = Case(replace(made), Limits(), History())
    change(case)
    return case

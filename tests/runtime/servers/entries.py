"""Entries of the table, and pods that may take them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.model.moves.steering_entry import SteeringEntry

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def entry(pod: str = "old-1", **more: Any) -> SteeringEntry:
    fields: dict[str, Any] = {
        "owner": "rs1",
        "namespace": "web",
        "template": "abc",
        "hostnames": ("h1", "h2"),
        "strength": "Prefer",
        "deadline": NOW + timedelta(minutes=2),
        "plan": "0123456789abcdef",
        "pod": pod,
        **more,
    }
    return SteeringEntry(**fields)


def metadata(uid: str = "new-1", owner: str = "rs1", **more: Any) -> ObjectMeta:
    controller = OwnerReference(
        apiVersion="apps/v1", kind="ReplicaSet", name="web", uid=owner, controller=True
    )
    fields: dict[str, Any] = {
        "name": f"web-{uid}",
        "namespace": "web",
        "uid": uid,
        "labels": {"pod-template-hash": "abc"},
        "ownerReferences": [controller],
        **more,
    }
    return ObjectMeta(**fields)

"""How the API server words, stamps and selects things, for the fake cluster."""

from datetime import datetime
from typing import Any

import msgspec

Reply = tuple[int, dict[str, Any], dict[str, str]]


def copied(value: Any) -> Any:
    """JSON as it comes over the wire: nothing of it is shared."""
    return msgspec.json.decode(msgspec.json.encode(value))


def stamp(moment: datetime) -> str:
    """A Kubernetes Time: seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def status(code: int, reason: str, message: str, **details: Any) -> Reply:
    """A failure as the API server words it."""
    seconds = details.get("retryAfterSeconds")
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    headers = {"Retry-After": str(seconds)} if seconds else {}
    return code, {**body, "details": details}, headers


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether the pod's Ready condition is True."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"]["conditions"])


def owner_name(uid: str) -> str:
    """The name of the owner with this UID."""
    return uid.lower()


def selected(item: dict[str, Any], query: dict[str, str]) -> bool:
    """Whether a list has the object: by equality of labels, name and phase."""
    metadata = item["metadata"]
    for requirement in filter(None, query.get("labelSelector", "").split(",")):
        key, value = requirement.split("=")
        if (metadata.get("labels") or {}).get(key) != value:
            return False
    for requirement in filter(None, query.get("fieldSelector", "").split(",")):
        if requirement.startswith("status.phase!="):
            if item["status"]["phase"] == requirement.split("!=")[1]:
                return False
        elif requirement.split("=")[1] != metadata["name"]:
            return False
    return True


def needs_no_budget(pod: dict[str, Any], budget: dict[str, Any]) -> bool:
    """Whether the pod is not Ready and the budget's policy lets such pods go."""
    if is_ready(pod):
        return False
    state = budget["status"]
    healthy, desired = state.get("currentHealthy", 0), state.get("desiredHealthy", 0)
    always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    return bool(always or 0 < desired <= healthy)


def restart(pod: dict[str, Any], now: datetime) -> None:
    """A container of the pod has crashed."""
    del pod["crashAt"]
    statuses = pod["status"].setdefault("containerStatuses", [{"name": "main"}])
    statuses[0]["restartCount"] = statuses[0].get("restartCount", 0) + 1
    statuses[0]["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    pod["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "lastTransitionTime": stamp(now)}
    ]


def crash_loop(pod: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The pod, crash-looping from now on."""
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    pod["status"] |= {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": stamp(now)}],
        "containerStatuses": [{"name": "main", "restartCount": 9, "state": waiting}],
    }
    return pod

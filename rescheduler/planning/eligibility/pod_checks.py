"""Whether the pod itself allows a move: its owner, its state, its age."""

from datetime import datetime, timedelta

from rescheduler.kube import annotations
from rescheduler.kube.objects import ObjectMeta, Pod
from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits

CRITICAL_PRIORITY = 2_000_000_000
"""Priority of system-cluster-critical; user-defined classes must stay at or below 1e9."""
_CRITICAL_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
_IMPERATIVE = "imperative-eviction.k8s.io/evictor"
_RESIZING = frozenset({"PodResizePending", "PodResizeInProgress"})


def refuse_kind(pod: Pod) -> Problem | None:
    """ELG001-ELG003: whether a controller of a movable kind stands behind the pod."""
    notes = pod.metadata.annotations or {}
    owner = pod.controller
    if annotations.MIRROR in notes or notes.get(annotations.SOURCE, "api") != "api":
        return Problem(
            code="ELG003", message="its kubelet manages it: it is a mirror or static pod"
        )
    if owner is None:
        return Problem(code="ELG001", message="it has no controller, so nothing would replace it")
    if owner.kind == "Node":
        return Problem(code="ELG003", message=f"it belongs to Node {owner.name}")
    if owner.kind == "DaemonSet":
        return Problem(code="ELG002", message=f"it belongs to DaemonSet {owner.name}")
    return None


def refuse_state(pod: Pod, limits: Limits, now: datetime) -> Problem | None:
    """ELG004-ELG007 and ELG021: whether the pod is stable.

    A time that is missing counts as too recent.
    """
    if pod.metadata.deletionTimestamp is not None:
        return Problem(code="ELG005", message="it is being deleted already")
    if pod.status.phase != "Running":
        return Problem(code="ELG004", message=f"its phase is {pod.status.phase or 'not known'}")
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "True":
        if short := _shorter(ready.lastTransitionTime, limits.minReadyTime, now):
            return Problem(code="ELG006", message=f"it has been Ready {short} (minReadyTime)")
    elif not pod.crash_looping:
        return Problem(code="ELG006", message="it is not Ready")
    elif limits.crashLooping == "Refuse":
        return Problem(
            code="ELG006", message="it is not Ready: it crash-loops (crashLooping: Refuse)"
        )
    if short := _shorter(pod.metadata.creationTimestamp, limits.minPodAge, now):
        return Problem(code="ELG007", message=f"it has lived {short} (minPodAge)")
    for condition in pod.status.conditions or ():
        if condition.type in _RESIZING and condition.status == "True":
            return Problem(code="ELG021", message=f"its condition {condition.type} is True")
    return None


def refuse_rank(pod: Pod, limits: Limits) -> Problem | None:
    """ELG008 and ELG009: whether its namespace and priority may be touched."""
    namespace = pod.metadata.namespace
    if limits.protects(namespace):
        return Problem(code="ELG008", message=f"namespace {namespace} is protected")
    priority = pod_priority(pod.spec)
    if priority >= CRITICAL_PRIORITY or pod.spec.priorityClassName in _CRITICAL_CLASSES:
        name = pod.spec.priorityClassName or "no class"
        return Problem(code="ELG009", message=f"its priority {priority} ({name}) is critical")
    if priority > limits.maxPriority:
        return Problem(
            code="ELG009",
            message=f"its priority {priority} is above maxPriority {limits.maxPriority}",
        )
    return None


def refuse_responders(pod: Pod) -> Problem | None:
    """ELG037: whether something else must be informed before an eviction, and may take its time.

    The Eviction API passes by `evictionResponders` (KEP-4563). Kubernetes' own only sends it.
    """
    responders = [
        responder.name
        for responder in pod.spec.evictionResponders or ()
        if responder.name != _IMPERATIVE
    ]
    if not responders:
        return None
    return Problem(
        code="ELG037", message=f"it names the eviction responder {', '.join(responders)}"
    )


def refuse_namespace(name: str, namespace: ObjectMeta | None) -> Problem | None:
    """ELG005: whether the namespace is there, and is not being deleted with all that is in it."""
    if namespace is None:
        return Problem(code="ELG005", message=f"its namespace {name} is not known")
    if namespace.deletionTimestamp is not None:
        return Problem(code="ELG005", message=f"its namespace {name} is being deleted")
    return None


def _shorter(since: datetime | None, least: timedelta, now: datetime) -> str:
    """How long it has been since then, in words, where that is shorter than least; else ""."""
    if since is None:
        return "for an unknown time"
    passed = now - since
    if passed >= least:
        return ""
    return f"{max(passed.total_seconds(), 0.0):.0f} s of {least.total_seconds():.0f} s"

"""Who asked that a pod be left alone: annotations, gangs, and the parts we depend on ourselves."""

import re
from collections.abc import Mapping
from datetime import datetime

from rescheduler.kube import annotations
from rescheduler.kube.objects import ObjectMeta, Pod
from rescheduler.model.problem import Problem

_NEEDED = frozenset(
    {
        "rescheduler",
        "prometheus",
        "thanos-query",
        "kube-state-metrics",
        "kube-scheduler",
        "coredns",
        "kube-dns",
    }
)
_NAME_LABELS = ("app.kubernetes.io/name", "k8s-app")

_GO_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_GO_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_OFF = frozenset({"", "false"})


def refuse_gang(pod: Pod) -> Problem | None:
    """ELG016: whether the pod is a member of a gang, by any of the known marks."""
    if pod.spec.schedulingGroup:
        return Problem(code="ELG016", message="it is a member of a scheduling group")
    for mark in sorted(annotations.GANG_LABELS.intersection(pod.metadata.labels or ())):
        return Problem(code="ELG016", message=f"it is a member of a gang: label {mark}")
    for mark in sorted(annotations.GANGS.intersection(pod.metadata.annotations or ())):
        return Problem(code="ELG016", message=f"it is a member of a gang: annotation {mark}")
    return None


def refuse_needed(pod: Pod) -> Problem | None:
    """ELG019: whether a cycle itself stands on this pod: metrics, DNS, scheduler, ourselves.

    Pods are known by their recommended labels. What stands in a protected namespace is refused
    before this.
    """
    labels = pod.metadata.labels or {}
    for key in _NAME_LABELS:
        if labels.get(key) in _NEEDED:
            return Problem(code="ELG019", message=f"the rescheduler needs {key}={labels[key]}")
    return None


def refuse_opt_out(pod: Pod, above: tuple[ObjectMeta, ...], now: datetime) -> Problem | None:
    """ELG011: whether an annotation asks to leave the pod alone.

    Our own annotation also counts on the objects above: controllers and namespace. A value that
    cannot be read protects, because somebody meant to protect the pod.
    """
    notes = pod.metadata.annotations or {}
    for metadata in (pod.metadata, *above):
        value = (metadata.annotations or {}).get(annotations.OPT_OUT)
        if value is not None and _opted_out(value, now):
            where = "" if metadata is pod.metadata else f" on {metadata.name}"
            return _protected(annotations.OPT_OUT, value, where)
    if not notes:
        return None
    if notes.get(annotations.SAFE_TO_EVICT, "true").strip().lower() != "true":
        return _protected(annotations.SAFE_TO_EVICT, notes[annotations.SAFE_TO_EVICT])
    return _other_tools(notes, pod, now)


def _other_tools(notes: Mapping[str, str], pod: Pod, now: datetime) -> Problem | None:
    for name in (annotations.DO_NOT_DISRUPT, annotations.DO_NOT_EVICT):
        value = notes.get(name)
        if value is not None and _undisruptable(value, pod, now):
            return _protected(name, value)
    for name in (
        annotations.PREFER_NO_EVICTION,
        annotations.REQUEST_EVICT_ONLY,
        annotations.EVICTION_IN_PROGRESS,
    ):
        value = notes.get(name)
        if value is not None and value.strip().lower() != "false":
            return _protected(name, value)
    return None


def _protected(name: str, value: str, where: str = "") -> Problem:
    return Problem(code="ELG011", message=f"annotation {name}: {value!r}{where} protects it")


def _opted_out(value: str, now: datetime) -> bool:
    text = value.strip()
    if text.lower() in _OFF:
        return False
    word, _, moment = text.partition(" ")
    if word != "until":
        return True
    try:
        until = datetime.fromisoformat(moment.strip())
    except ValueError:
        return True
    return until.tzinfo is None or now < until


def _undisruptable(value: str, pod: Pod, now: datetime) -> bool:
    """Karpenter's annotation: `true`, or a Go duration for which a pod is protected from its start.

    Source: kubernetes-sigs/karpenter pkg/utils/pod/scheduling.go. Unlike there, a value that
    cannot be read protects.
    """
    text = value.strip()
    if text.lower() in _OFF:
        return False
    parts = _GO_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return True
    seconds = sum(float(number) * _GO_UNITS[unit] for number, unit in parts)
    start = pod.status.startTime
    return start is None or (now - start).total_seconds() < seconds

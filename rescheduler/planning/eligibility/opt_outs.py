"""Requests to leave a pod alone: annotations and labels; and the parts that we depend on."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rescheduler.kube import annotations
from rescheduler.kube.go_durations import go_seconds
from rescheduler.kube.mark_words import forbids_moving
from rescheduler.kube.objects import ObjectMeta, Pod
from rescheduler.model.problem import Problem
from rescheduler.policies.marks import OptOut

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

_TIMED = (annotations.DO_NOT_DISRUPT, annotations.DO_NOT_EVICT)
"""Of Karpenter; one may protect a pod for some time from its start."""

_PROTECTING = (
    annotations.PREFER_NO_EVICTION,
    annotations.REQUEST_EVICT_ONLY,
    annotations.EVICTION_IN_PROGRESS,
)
_EVICTABLE = (annotations.EVICT, annotations.EVICTABLE)
_LABELS = (
    annotations.REMOVAL_DISABLED,
    annotations.EVICTION_DISABLED,
    annotations.RESTRICT_SCALE_DOWN,
)
"""Which protect a pod as labels and as annotations."""
_LISTED = annotations.READ
"""Those whose meaning their tools document."""

_SHOWN = 60
"""Characters of an annotation in a message; it may have 262,144."""
_OFF = "false"
"""The only value that protects nothing: an empty one says that somebody meant to."""


def refuse_needed(pod: Pod) -> Problem | None:
    """ELG019: whether the pod's recommended labels tell that a cycle stands on it."""
    labels = pod.metadata.labels or {}
    for key in _NAME_LABELS:
        if labels.get(key) in _NEEDED:
            return Problem(code="ELG019", message=f"the rescheduler needs {key}={labels[key]}")
    return None


def refuse_opt_out(
    pod: Pod, above: tuple[ObjectMeta, ...], now: datetime, own: Iterable[OptOut] = ()
) -> Problem | None:
    """ELG011: whether an annotation or a label asks to leave the pod alone.

    Our own annotation and the operators' own marks also count on the objects above: owners and
    namespace. A value that cannot be read protects, because somebody meant to protect the pod.

    own: the operators' marks.
    """
    notes = pod.metadata.annotations or {}
    for metadata in (pod.metadata, *above):
        value = (metadata.annotations or {}).get(annotations.OPT_OUT)
        if value is not None and _opted_out(value, now):
            where = "" if metadata is pod.metadata else f" on {metadata.name}"
            return _protection(annotations.OPT_OUT, value, where)
    if marked := _refuse_configured(pod.metadata, above, own) or _refuse_label(
        pod.metadata.labels or {}
    ):
        return marked
    if not notes:
        return None
    if notes.get(annotations.SAFE_TO_EVICT, "true").strip().lower() != "true":
        return _protection(annotations.SAFE_TO_EVICT, notes[annotations.SAFE_TO_EVICT])
    return _other_tools(notes, pod, now)


def _refuse_configured(
    pod: ObjectMeta, above: tuple[ObjectMeta, ...], own: Iterable[OptOut]
) -> Problem | None:
    for mark in own:
        for metadata in (pod, *above):
            value = mark.mark_value(metadata)
            if value is not None:
                where = "" if metadata is pod else f" on {metadata.name}"
                return _protection(mark.key, value, where, mark.kind)
    return None


def _refuse_label(labels: Mapping[str, str]) -> Problem | None:
    for name, value in labels.items():
        listed = name in _LABELS and value.lower() != _OFF
        if listed or (name not in _LABELS and forbids_moving(name, value)):
            return _protection(name, value, kind="label")
    return None


def depends_on_age(pod: Pod) -> bool:
    """Whether `refuse_opt_out` may answer by how long ago the pod started."""
    notes = pod.metadata.annotations
    return notes is not None and any(annotation in notes for annotation in _TIMED)


def _other_tools(notes: Mapping[str, str], pod: Pod, now: datetime) -> Problem | None:
    for name in _TIMED:
        value = notes.get(name)
        if value is not None and _undisruptable(value, pod, now):
            return _protection(name, value)
    for name in _EVICTABLE:
        if notes.get(name, "").strip().lower() == _OFF:
            return _protection(name, notes[name])
    for name in (*_PROTECTING, *_LABELS):
        value = notes.get(name)
        if value is not None and value.strip().lower() != _OFF:
            return _protection(name, value)
    for name, value in notes.items():
        if name not in _LISTED and forbids_moving(name, value):
            return _protection(name, value)
    return None


def _protection(name: str, value: str, where: str = "", kind: str = "annotation") -> Problem:
    shown = repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}...")
    return Problem(code="ELG011", message=f"{kind} {name}: {shown}{where} protects it")


def _opted_out(value: str, now: datetime) -> bool:
    text = value.strip()
    if text.lower() == _OFF:
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
    if text.lower() == _OFF:
        return False
    seconds, start = go_seconds(text), pod.status.startTime
    return seconds is None or start is None or (now - start).total_seconds() < seconds

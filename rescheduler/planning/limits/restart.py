"""Restart cost of a pod: its time to Ready, and the work since its last checkpoint."""

from collections.abc import Sequence
from datetime import datetime

from rescheduler.kube import annotations
from rescheduler.kube.go_durations import go_seconds
from rescheduler.kube.objects import Labels, ObjectMeta, Pod
from rescheduler.model.moves.restart_cost import RestartCost
from rescheduler.planning.eligibility.ready_times import Usual

MOST_WORK_SECONDS = 7200.0
"""More work than this costs no more; where its start is not known, it counts as so much."""
_UNLEARNED = Usual(None, 0)
_CHECKPOINTS = frozenset({annotations.CHECKPOINTED_AT, annotations.CHECKPOINT_INTERVAL})


def restart_cost(
    pod: Pod, now: datetime, usual: Usual = _UNLEARNED, controllers: Sequence[ObjectMeta] = ()
) -> RestartCost:
    """What moving this pod starts again.

    usual: how long its workload's past replacements took to be Ready; else its own start tells it.
    controllers: the objects above it, whose annotations about checkpoints count where the pod's own
    say nothing.
    """
    start, working = _start_time(pod), works(pod, controllers)
    notes = [meta.annotations for meta in (pod.metadata, *controllers) if meta.annotations]
    since = _since_checkpoint(notes, start, now) if working and start is not None else None
    work = None
    if working:
        elapsed = MOST_WORK_SECONDS if start is None else (now - start).total_seconds()
        work = max(elapsed, 0.0) if since is None else since
    return RestartCost(
        readySeconds=own_start(pod) if usual.seconds is None else usual.seconds,
        moves=usual.moves,
        workSeconds=work,
        checkpoint=since is not None,
    )


def works(pod: Pod, controllers: Sequence[ObjectMeta]) -> bool:
    """Whether work is lost: by pods of Jobs, and where an annotation tells of checkpoints."""
    owner = pod.controller
    if owner is not None and owner.kind == "Job":
        return True
    notes = (meta.annotations for meta in (pod.metadata, *controllers) if meta.annotations)
    return any(not _CHECKPOINTS.isdisjoint(note) for note in notes)


def own_start(pod: Pod) -> float | None:
    """From its start until it was Ready; None while it is not, or where a time is missing."""
    condition = pod.condition("Ready")
    if condition is None or condition.status != "True":
        return None
    start, since = _start_time(pod), condition.lastTransitionTime
    if start is None or since is None:
        return None
    return max((since - start).total_seconds(), 0.0)


def _start_time(pod: Pod) -> datetime | None:
    return pod.status.startTime or pod.metadata.creationTimestamp


def _since_checkpoint(notes: Sequence[Labels], start: datetime, now: datetime) -> float | None:
    """Seconds of work since the last checkpoint, at most since the start; None if none tells it.

    The time of a checkpoint says more than an interval, where all work of it may be lost. What
    cannot be read, or lies in the future, tells nothing.
    """
    for note in notes:
        moment = _moment(note.get(annotations.CHECKPOINTED_AT, ""))
        if moment is not None and moment <= now:
            return max((now - max(moment, start)).total_seconds(), 0.0)
    for note in notes:
        interval = go_seconds(note.get(annotations.CHECKPOINT_INTERVAL, "").strip())
        if interval:
            return min(interval, max((now - start).total_seconds(), 0.0))
    return None


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None

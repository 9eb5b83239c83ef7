"""Replacements: which new pod stands for an evicted one, where it landed, and when it was Ready.

Nothing in Kubernetes links a replacement to its predecessor: it is a pod of the same controller,
made after the intent; for a StatefulSet it has the same name. Each stands for one move at most.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from rescheduler.kube.objects import Pod
from rescheduler.model.errors import SourceError
from rescheduler.model.history import History, PastMove
from rescheduler.runtime.enforce.actor import Actor

GRANULARITY = timedelta(seconds=2)
"""creationTimestamp and the Date header are cut to seconds; the request comes before either."""

_YOUNG = timedelta(minutes=1)


def siblings(controller: str, pods: Iterable[Pod], now: datetime) -> list[str]:
    """UIDs of pods of the controller so young that they could be taken for a replacement."""
    return [
        pod.metadata.uid
        for pod in pods
        if pod.controller is not None
        and pod.controller.uid == controller
        and pod.metadata.creationTimestamp is not None
        and pod.metadata.creationTimestamp >= now - _YOUNG
    ]


def find_replacement(move: PastMove, pods: Iterable[Pod], taken: set[str]) -> Pod | None:
    """The pod that replaces the one of this move, or None.

    taken: UIDs of pods that stand for other moves.
    """
    fitting = [pod for pod in pods if _fits(move, pod, taken)]
    for pod in fitting:
        if pod.metadata.uid == move.replacement:
            return pod
    return min(fitting, key=_age_order, default=None)


def _age_order(pod: Pod) -> tuple[str, str]:
    created = pod.metadata.creationTimestamp
    return (created.isoformat() if created else "", pod.metadata.uid)


def _fits(move: PastMove, pod: Pod, taken: set[str]) -> bool:
    metadata, controller = pod.metadata, pod.controller
    return (
        controller is not None
        and controller.uid == move.controller
        and metadata.namespace == move.namespace
        and metadata.uid != move.podUid
        and metadata.uid not in taken
        and metadata.uid not in move.siblings
        and metadata.deletionTimestamp is None
        and metadata.creationTimestamp is not None
        and metadata.creationTimestamp >= move.at - GRANULARITY
        and (move.controllerKind != "StatefulSet" or metadata.name == move.pod)
    )


def follow(actor: Actor, history: History, moves: Iterable[PastMove]) -> bool:
    """Check once what has become of these evicted moves; whether anything changed.

    Raises:
        SourceError: the pods cannot be read.
    """
    pods: dict[str, list[Pod]] = {}
    changed = False
    for move in sorted(moves, key=lambda move: move.at):
        if move.namespace not in pods:
            pods[move.namespace] = actor.pods(move.namespace)
        taken = {each.replacement for each in history.moves if each is not move}
        found = find_replacement(move, pods[move.namespace], taken)
        changed |= _close(actor, move, found)
        changed |= history.learn(move, actor.clock())
    return changed


def _close(actor: Actor, move: PastMove, found: Pod | None) -> bool:
    now = actor.clock()
    was = (move.replacement, move.landedOn, move.state)
    if found is not None:
        move.replacement = found.metadata.uid
        move.landedOn = found.node
    late = now - move.at >= actor.limits.readyTimeout
    ready = found.condition("Ready") if found is not None and found.node and found.ready else None
    since = (ready.lastTransitionTime if ready else None) or now
    # A container without a readiness probe is Ready for a moment between two crashes.
    steady = not move.crashLooping or late or now - since >= actor.limits.minReadyTime
    if ready is not None and steady:
        move.readySeconds = max(0.0, (since - move.at).total_seconds())
        move.state, move.settled = "ready", now
        move.code = "ACT012" if move.boomerang else "ACT001"
    elif move.state == "evicted" and late:
        move.state, move.settled = "lost", now
        move.code = "ACT017" if move.no_worse else "ACT011"
    return was != (move.replacement, move.landedOn, move.state)


def await_replacements(actor: Actor, history: History, moves: list[PastMove]) -> None:
    """Wait until each of these moves is ready or lost, or we are asked to stop.

    What cannot be read is asked again until the time is up; only then it is an error, since a
    replacement that we could not see is not lost.

    Raises:
        SourceError: the pods could not be read when the time was up.
        ActionError: the ledger could not be written.
    """
    while True:
        waiting = [move for move in moves if move.state == "evicted"]
        if not waiting or actor.stop():
            return
        try:
            if follow(actor, history, waiting):
                actor.ledger.write(history)
        except SourceError:
            if all(actor.clock() - move.at >= actor.limits.readyTimeout for move in waiting):
                raise
        if any(move.state == "evicted" for move in moves):
            actor.sleep(actor.pace.poll)

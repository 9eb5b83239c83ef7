"""Replacements: which new pod stands for an evicted one, where it landed, and whether it stays.

Nothing in Kubernetes links a replacement to its predecessor: it is a pod of the same controller
that was not there at the intent; for a StatefulSet it has the same name. Pods are distinguished by
UID, never by times, as API servers and nodes may have different clocks. Each stands for one move.

A slot is free once the evicted pod is gone from the API server, and its replacement has been seen
Ready for `minReadyTime` with no restart since it was first Ready.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from rescheduler.acting.actor import Actor
from rescheduler.acting.trail_records import followed_record
from rescheduler.actions.seen_pod import SeenPod
from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.pod_state import restarts
from rescheduler.model.errors import ObjectUnreadable, SourceError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import STAYS, PastMove, mark

_OVERTIME = timedelta(minutes=5)
"""So long after its grace period an evicted pod counts as stuck."""
_STEERED = 0.5
"""Seconds between two checks while an entry of the table is open: it steers every pod that its
controller makes."""
_AT_ONCE = (0.05, 0.1, 0.15, 0.25, 0.45)
"""The same right after an eviction, as most controllers replace a pod at once."""
_SLOWER = 1.5


def find_replacement(move: PastMove, pods: Iterable[Pod], taken: set[str]) -> Pod | None:
    """The pod that replaces the one of this move, or None.

    taken: UIDs of pods that stand for other moves.
    """
    fitting = [pod for pod in pods if _fits(move, pod, taken)]
    for pod in fitting:
        if pod.metadata.uid == move.replacement:
            return pod
    return min(fitting, key=lambda pod: pod.metadata.uid, default=None)


def _fits(move: PastMove, pod: Pod, taken: set[str]) -> bool:
    metadata, owner = pod.metadata, pod.controller
    named = move.controllerKind == "StatefulSet"
    return (
        owner is not None
        # A StatefulSet created again gives the same names: so LeaderWorkerSet restarts a group.
        and (owner.kind == "StatefulSet" if named else owner.uid == move.controller)
        and metadata.namespace == move.namespace
        and metadata.uid != move.podUid
        and metadata.uid not in taken
        and bool(move.earlierPods)
        and mark(metadata.uid) not in move.earlierPods
        and metadata.deletionTimestamp is None
        and (not named or metadata.name == move.pod)
    )


def follow(actor: Actor, history: History, moves: Iterable[PastMove]) -> bool:
    """Check once what has become of those of these moves that were evicted; whether it changed.

    Raises:
        SourceError: the pods cannot be read; where that is one pod alone, only its moves wait.
    """
    lists: dict[tuple[str, str, str], list[Pod] | ObjectUnreadable] = {}
    changed = False
    evicted = [move for move in moves if move.state in ("evicted", "lost")]
    for move in sorted(evicted, key=lambda move: move.at):
        # A replacement in a StatefulSet has the name of the pod, so no other needs to be read.
        name = move.pod if move.controllerKind == "StatefulSet" else ""
        key = (move.namespace, move.selector, name)
        if key not in lists:
            lists[key] = _list_pods(actor, *key)
        was, before = _progress(move), (move.landedOn, move.state, move.code)
        try:
            _look(actor, history, move, lists[key])
        except ObjectUnreadable as error:
            _lose_sight(actor, move, error)
        if before != (move.landedOn, move.state, move.code):
            actor.record(followed_record(move, was_on=before[0]))
        changed |= was != _progress(move)
        changed |= history.learn(move, actor.clock())
    return actor.steering.close(history.moves) or changed


def _list_pods(
    actor: Actor, namespace: str, selector: str, name: str
) -> list[Pod] | ObjectUnreadable:
    """The pods, or which one of them cannot be decoded."""
    try:
        return actor.pods(namespace, selector, name)
    except ObjectUnreadable as error:
        return error


def _look(
    actor: Actor, history: History, move: PastMove, pods: list[Pod] | ObjectUnreadable
) -> None:
    """Take in what these pods show of the move. Raises: as `Actor.pod`, or what stands for them."""
    if isinstance(pods, ObjectUnreadable):
        raise pods
    if move.unread and move.intentAt is not None:
        there = _evicted_pod(actor, move, pods)
        if there is not None and not there.leaving:
            move.see_no_effect()
            return  # it was never evicted, so what has come is the replacement of another one
    taken = {past_move.replacement for past_move in history.moves if past_move is not move}
    replacement = find_replacement(move, pods, taken)
    _see(actor, move, replacement)
    remaining_pod = _evicted_pod(actor, move, pods)
    if remaining_pod is None:
        move.see_gone(actor.clock())
        _close(actor, move, replacement)
    elif actor.clock() - move.at >= remaining_pod.grace + _OVERTIME:
        move.see_stay()


def _lose_sight(actor: Actor, move: PastMove, error: ObjectUnreadable) -> None:
    """One pod hides what has become of a move: from when that is late it counts as lost.

    One that was known to be lost stays that, so that no odd pod can hide it.
    """
    now = actor.clock()
    if move.state == "lost" and not move.unread:
        return
    if move.state == "evicted" and now - (move.gone or move.at) < actor.limits.readyTimeout:
        return
    said = "a move counts as lost, as a pod of its workload cannot be read"
    actor.warn(said, pod=f"{move.namespace}/{move.pod}", message=error.sentence)
    move.lose_sight(now)


def _progress(move: PastMove) -> tuple[object, ...]:
    seen = (move.replacement, move.landedOn, move.gone, move.readySince, move.restarts)
    return (*seen, move.state, move.code)


def _evicted_pod(actor: Actor, move: PastMove, pods: Iterable[Pod]) -> SeenPod | None:
    """The evicted pod as long as the API server has it, also when it has ended."""
    if move.gone is not None:
        return None
    for pod in pods:
        if pod.metadata.name == move.pod:
            return SeenPod.from_pod(pod) if pod.metadata.uid == move.podUid else None
    # The list has no pods that ended, nor one whose labels were taken away.
    read = actor.pod(move.namespace, move.pod)
    return read if read is not None and read.uid == move.podUid else None


def _see(actor: Actor, move: PastMove, replacement: Pod | None) -> None:
    """Keep where the replacement is, and since when it has been Ready without a restart."""
    if replacement is None:
        # The one that was seen is gone or leaving, so another one has to come.
        move.see_not_ready()
        return
    if replacement.metadata.uid != move.replacement:
        actor.steering.inspect_replacement(move, replacement)
    move.see_replacement(replacement.metadata.uid, replacement.node)
    if replacement.ready and replacement.node:
        now = actor.clock()
        move.see_ready(now, _ready_seconds(move, replacement, now), restarts(replacement))
    else:
        move.see_not_ready()


def _ready_seconds(move: PastMove, replacement: Pod, now: datetime) -> float:
    """Seconds until it was first Ready, by its node's clock where that agrees with ours."""
    ready = replacement.condition("Ready")
    since = ready.lastTransitionTime if ready is not None else None
    first = since if since is not None and move.at <= since <= now else now
    return (first - move.at).total_seconds()


def _close(actor: Actor, move: PastMove, replacement: Pod | None) -> None:
    """Settle a move whose pod is gone, where its replacement stays, restarts or is late."""
    now, limits = actor.clock(), actor.limits
    due = (move.gone or now) + limits.readyTimeout
    seen = replacement is not None and move.readySeconds is not None
    restarted = replacement is not None and seen and restarts(replacement) != move.restarts
    since = move.readySince
    if since is not None and not restarted and now - since >= limits.minReadyTime:
        move.settle(now)
        return
    if restarted and replacement is not None:
        # It may still settle: after it was counted as lost it is watched from here on.
        move.see_restart(restarts(replacement), now if replacement.ready else None)
    # One that is Ready just now either stays so for long enough, or breaks off and is late then.
    late = since is None and now >= (due + limits.minReadyTime if seen else due)
    if move.state == "evicted" and (late or restarted):
        looping = restarted or (
            replacement is not None and (replacement.crash_looping or restarts(replacement) > 1)
        )
        move.lose(now, looping=looping)


def await_replacements(
    actor: Actor,
    history: History,
    moves: list[PastMove],
    each_time: Callable[[], None] = lambda: None,
) -> None:
    """Wait until each of these moves is settled or stuck, we are stopped, or lose the lock.

    each_time: is called after each check, and may evict a replacement that does not get placed.

    What cannot be read is tried again until the time is up; only then it is an error, since a
    replacement that we could not see is not lost.

    Raises:
        SourceError: the pods could not be read when the time was up.
        ActionError: the ledger could not be written.
    """
    pause = actor.intervals.poll
    longest = actor.limits.readyTimeout + actor.limits.minReadyTime
    while True:
        waiting = pending_replacements(moves)
        if not waiting or actor.stop() or not actor.lease.held:
            return
        try:
            if follow(actor, history, waiting):
                actor.ledger.write(history)
            each_time()
        except SourceError:
            if all(actor.clock() - move.at >= longest for move in waiting):
                raise
        if pending_replacements(moves):
            actor.sleep(_STEERED if any(map(_steers, waiting)) else pause)
            pause = min(pause * _SLOWER, actor.intervals.poll_most)


def await_placed(actor: Actor, history: History) -> None:
    """Wait until no node is tainted for an earlier replacement, which would change other landings.

    Its deadline ends the wait too; so does whatever ends the run, as anybody who calls will see.

    Raises:
        SourceError: the pods cannot be read.
        ActionError: the ledger cannot be written, or taints cannot be taken off.
    """
    while waiting := [move for move in history.moves if actor.steering.holds_others(move)]:
        if actor.stop() or not actor.lease.held:
            return
        if follow(actor, history, waiting):
            actor.ledger.write(history)
        if all(move.steered is None or actor.clock() > move.steered.until for move in waiting):
            actor.steering.close(waiting, every=True)
        else:
            actor.sleep(_STEERED)


def watch_closely(actor: Actor, history: History, move: PastMove) -> None:
    """Wait a moment for the replacement of a move that was just made, where it is steered."""
    for pause in _AT_ONCE:
        if move.state != "evicted" or not _steers(move):
            return
        actor.sleep(pause)
        try:
            follow(actor, history, [move])
        except SourceError:
            return  # it is asked again with the others of its batch


def _steers(move: PastMove) -> bool:
    return move.steered is not None and move.steered.open


def pending_replacements(moves: Iterable[PastMove]) -> list[PastMove]:
    """The moves whose slot is taken and may still become free by itself soon."""
    return [move for move in moves if move.state == "evicted" and move.code != STAYS]

"""Takes the lock, loads the ledger, and closes the moves that earlier runs left open."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rescheduler.acting.actor import Actor
from rescheduler.acting.replacements import follow
from rescheduler.acting.trail_records import followed_record
from rescheduler.actions.seen_pod import SeenPod, was_evicted
from rescheduler.kube.kueue import was_stopped
from rescheduler.model.errors import LockLost, ObjectUnreadable
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove

APPLY_DELAY = timedelta(minutes=2)
"""After so long an unanswered eviction that shows no effect was not applied: the API server gives
up a request after one minute, and the disruption controller a disrupted pod after two."""


@contextmanager
def hold_lock(actor: Actor, fence: int | None = None) -> Iterator[History]:
    """Hold the lock, with the ledger loaded and open moves of earlier runs closed by UID.

    A lock that is held already stays held afterwards; one that is taken here is given back.
    fence: of the lease transition that must go on: where it has ended, the lock is not taken again.

    Raises:
        LockHeld: somebody else holds it.
        LedgerUnreadable, LockLost, ActionError: the ledger cannot be trusted or written.
        SourceError: the pods of open moves cannot be read.
    """
    if fence is not None and not (actor.lease.held and actor.ledger.fence == fence):
        raise LockLost(
            "it was lost since the plan was begun",
            "check for a second instance; the next run makes a new plan.",
        )
    if actor.lease.held:
        history = actor.ledger.load()
        reconcile(actor, history)
        yield history
        return
    actor.lease.acquire()
    try:
        actor.lease.start()
        history = actor.ledger.open()
        reconcile(actor, history)
        yield history
    finally:
        actor.lease.release()


def reconcile(actor: Actor, history: History) -> None:
    """Close every open move by what the cluster shows now, and store it.

    An intent whose pod is gone, replaced or terminating was carried out. One that shows no effect
    after `APPLY_DELAY` was not, and its budget is given back; younger ones keep their charge and
    their workload is left alone. A process may have stood still right before its request and send
    it later, so what was given back is watched on, until it was looked at when none can send it any
    more, and charged where its pod is gone after all: also where somebody else took it, which
    cannot be distinguished. What cannot be read of one pod holds no other: its eviction counts as
    carried out once its request has ended, as nobody can tell. A lost replacement that has become
    Ready after all is not lost. Workloads whose evictions broke off earlier runs begin to rest, so
    that this one reaches others. What steered the replacements of a process that ended is swept;
    one whose Pending replacement was evicted has its slot in the move that it freed.
    """
    changed = actor.steering.sweep(history)
    for move in history.moves:
        changed |= move.begin_rest(actor.clock())
        if move.state == "intended":
            changed |= _resolve(actor, move)
    charged = {move.podUid for move in history.moves if move.charged}
    # A pod that was tried again may have several; the latest stands for them.
    for move in reversed(history.moves):
        if not move.watched:
            continue
        if move.podUid not in charged and _charge_late(actor, move):
            charged.add(move.podUid)
            changed = True
        else:
            changed |= move.let_go(actor.clock())
    for move in history.moves:
        if move.frees and move.state == "evicted":
            history.release(move, actor.clock())
    open_moves = [move for move in history.moves if move.state in ("evicted", "lost")]
    changed |= follow(actor, history, open_moves)
    if changed:
        actor.ledger.write(history)


def _resolve(actor: Actor, move: PastMove) -> bool:
    now = actor.clock()
    overdue = now - move.at >= APPLY_DELAY
    try:
        done = _took_effect(actor, move)
    except ObjectUnreadable as error:
        if overdue:
            return _charge_unread(actor, move, error)
        _warn(actor, "it is not known yet whether an eviction took effect", move, error)
        return False
    if done:
        move.charge_late(now)
        actor.record(followed_record(move))
        return True
    if overdue:
        move.give_back(now)
        actor.record(followed_record(move))
        return True
    return False


def _took_effect(actor: Actor, move: PastMove) -> bool:
    """Whether the pod is gone or going, or the Workload that Kueue was to stop it by.

    Until Kueue has seen that, its pods run on as if nothing had been requested. A Workload that
    nobody can read any more, as Kueue was uninstalled or is another version, counts as stopped: so
    it is charged, and its gang is left alone until its pods are gone.

    Raises:
        ObjectUnreadable: this one cannot be read, or its Workload cannot be decoded while the
            request may be under way.
        SourceError: none can be read now.
    """
    if was_evicted(_find_pod(actor, move), move.podUid):
        return True
    if not move.stops:
        return False
    try:
        return was_stopped(actor.kueue.read(move.namespace, move.stops), move.stopsUid)
    except ObjectUnreadable as error:
        if actor.clock() - move.at < APPLY_DELAY:
            raise
        said = "a Workload that was to be stopped cannot be read, and counts as stopped"
        _warn(actor, said, move, error)
        return True


def _find_pod(actor: Actor, move: PastMove) -> SeenPod | None:
    """The pod by its name, or among all of its controller. Raises: as `Actor.pod`."""
    try:
        return actor.pod(move.namespace, move.pod)
    except ObjectUnreadable:
        listed = actor.pods(move.namespace, move.selector, "")
        listed_pod = next((pod for pod in listed if pod.metadata.name == move.pod), None)
        if listed_pod is None:
            raise  # it may be gone, or have ended
        return SeenPod.from_pod(listed_pod)


def _charge_late(actor: Actor, move: PastMove) -> bool:
    try:
        done = _took_effect(actor, move)
    except ObjectUnreadable as error:
        return _charge_unread(actor, move, error)
    if done:
        move.charge_late(actor.clock())
        actor.record(followed_record(move))
    return done


def _charge_unread(actor: Actor, move: PastMove, error: ObjectUnreadable) -> bool:
    """Count an unanswered eviction as carried out where this pod alone cannot be read.

    To go on watching would give it back for as long as nobody looks, or hold every run for as long
    as one pod stays as it is; both may last for ever.
    """
    said = "an unanswered eviction counts as carried out, as its pod cannot be read"
    _warn(actor, said, move, error)
    move.charge_unread(actor.clock())
    actor.record(followed_record(move))
    return True


def _warn(actor: Actor, said: str, move: PastMove, error: ObjectUnreadable) -> None:
    actor.warn(said, pod=f"{move.namespace}/{move.pod}", message=error.sentence)

"""One run of a plan: batch by batch, with guards between them, until it is done or halted.

What must hold before a request, and in which order, is the table of `model/moves/gates`. Beside it
a run ends here where the plan has expired, is for another cluster or was held by a guard, where the
lock is lost between batches, and where a replacement of the run is.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from msgspec import structs

from rescheduler.acting.actor import Actor
from rescheduler.acting.halting import Halted, names_of
from rescheduler.acting.move_records import MoveRecords
from rescheduler.acting.move_results import notes_of_unread_moves
from rescheduler.acting.reconcile import hold_lock
from rescheduler.acting.releases import Releases
from rescheduler.acting.replacements import await_placed, await_replacements, pending_replacements
from rescheduler.acting.sender import Sender
from rescheduler.acting.units import units_of
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import (
    ActionError,
    ClocksDiffer,
    LedgerUnreadable,
    LockHeld,
    LockLost,
    PlanExpired,
    SourceError,
)
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import MoveResult, Outcome, Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG, problem
from rescheduler.planning.limits.landing_trust import calibration
from rescheduler.steering.missed_steering import misses

DONE = "ACT013"
_GUARDED_FOR = timedelta(minutes=1)
"""So long the guards are believed that did not hold on a snapshot."""


def act(plan: Plan, actor: Actor, *, fence: int | None = None) -> Outcome:
    """Carry out the plan's Enforce moves, batch by batch, and report what became of each.

    The plan stays as it is; the outcome holds it, with notes on what acting has found.
    fence: of the lease transition in which the plan was made: where it has ended, nothing is done.
    None takes the lock for this plan.
    Never raises for what happens while acting: the verdict says why it stopped, and what was
    evicted until then is in the outcome in any case.

    Raises:
        PlanExpired: the plan may not be applied any more; nothing was done.
    """
    started = actor.clock()
    results = {move.pod.uid: _untried_result(move) for move in plan.moves}
    loaded_history, notes = None, list[Problem]()
    try:
        with hold_lock(actor, fence) as history:
            # Now that the API server was heard: before, this host's own clock stands in.
            actor = _with_one_clock(actor)
            if actor.clock() >= plan.expires:
                raise PlanExpired(
                    f"plan {plan.id} expired at {plan.expires:%Y-%m-%d %H:%M:%S} UTC",
                    "make a new plan.",
                )
            loaded_history, slow = history, dict(history.slow)
            sender = Sender(actor, MoveRecords(plan.id, actor, history, results))
            releases = Releases(actor, history, sender)
            try:
                releases.release_earlier(lambda: _observe_cluster(plan, actor))
                _stop_if_guarded(plan)
                for number, batch in enumerate(_batches(plan.moves)):
                    snapshot = _observe_cluster(plan, actor)
                    # Later ones may meet taints of this very run.
                    notes += actor.steering.sweep_strays(snapshot) if number == 0 else []
                    _carry_out(plan, batch, sender, releases, snapshot)
                _stop_if_unlocked(actor)
            finally:
                _clear(actor, history, changed=history.slow != slow)
                notes += releases.still_pending()
        verdict = problem(DONE)
    except Halted as halt:
        verdict = halt.verdict
    except LockHeld as error:
        verdict = problem("GRD005", error.message)
    except LockLost as error:
        verdict = problem("ACT015", error.message)
    except ClocksDiffer as error:
        verdict = problem("GRD007", error.message)
    except LedgerUnreadable as error:
        verdict = problem("GRD004", error.message)
    except (ActionError, SourceError) as error:
        verdict = problem("ACT016", error.message)
    learned = plan.calibration
    if loaded_history is not None:
        learned = calibration(loaded_history, actor.limits, plan.cluster.version, actor.clock())
        notes += [*misses(loaded_history, plan.id), *notes_of_unread_moves(loaded_history)]
    return Outcome(
        started=started,
        finished=actor.clock(),
        verdict=verdict,
        moves=tuple(results[move.pod.uid] for move in plan.moves),
        calibration=learned,
        plan=_plan_with_notes(plan, notes),
    )


def _plan_with_notes(plan: Plan, notes: list[Problem]) -> Plan:
    """The plan with notes on what was found, where it does not say so already."""
    new = [problem for problem in notes if problem not in plan.notes]
    return structs.replace(plan, notes=[*plan.notes, *new]) if new else plan


def _with_one_clock(actor: Actor) -> Actor:
    """The actor with the API server's time as of now, carried on by the steady clock.

    Requests of one run may be answered by API servers whose clocks differ.
    """
    began, steady = actor.clock(), actor.steady()

    def clock() -> datetime:
        return began + timedelta(seconds=actor.steady() - steady)

    return replace(actor, clock=clock, steering=actor.steering.with_clock(clock))


def _stop_if_guarded(plan: Plan) -> None:
    """Stop where a guard held already when the plan was made, so that it has no moves."""
    if plan.guards:
        raise Halted(plan.guards[0].code, plan.guards[0].message)


def _stop_if_unlocked(actor: Actor) -> None:
    """Stop where the lock is lost."""
    if not actor.lease.held:
        raise Halted("ACT015")


def _untried_result(move: PlannedMove) -> MoveResult:
    audit = " Only Audit policies want it, so it is shown and not acted on."
    message = CATALOG["ACT010"].sentence + (audit if move.mode == "Audit" else "")
    return MoveResult.from_move(move, "skipped", Problem(code="ACT010", message=message))


def _batches(moves: list[PlannedMove]) -> Iterator[list[PlannedMove]]:
    wanted = sorted((m for m in moves if m.mode == "Enforce"), key=lambda move: move.batch)
    for _, batch in groupby(wanted, key=lambda move: move.batch):
        yield list(batch)


def _observe_cluster(plan: Plan, actor: Actor) -> Snapshot:
    """A fresh snapshot of the plan's cluster."""
    reason = actor.stop()
    if reason:
        raise Halted("ACT014", reason)
    _stop_if_unlocked(actor)
    snapshot = actor.observe()
    if snapshot.cluster.uid != plan.cluster.uid:
        raise Halted(
            "ACT016",
            f"plan {plan.id} was made for cluster {plan.cluster.uid}, not {snapshot.cluster.uid}",
        )
    return snapshot


def _clear(actor: Actor, history: History, *, changed: bool) -> None:
    """Take every entry out of the table: the run ends, and nobody would do it later.

    changed: whether anything else of the history is to be stored.

    Raises:
        LockLost, ActionError: they could not be taken out, or not stored that they were.
    """
    closed = actor.steering.close(history.moves, every=True)
    if (closed or changed) and actor.lease.held:
        actor.ledger.write(history)


def _carry_out(
    plan: Plan,
    batch: list[PlannedMove],
    sender: Sender,
    releases: Releases,
    snapshot: Snapshot,
) -> None:
    """One batch, on its snapshot: its units one after the other, then their replacements."""
    actor = sender.actor
    sender.begin(snapshot, batch)
    wanted = [move for move in plan.moves if move.mode == "Enforce"]
    try:
        for unit in units_of(wanted, batch):
            snapshot = _wait(plan, sender, snapshot)
            sender.send(unit)
    finally:
        # Even a run that breaks off learns what became of what it evicted, if it may wait.
        made = sender.records.made
        try:
            await_replacements(actor, sender.records.history, made, releases.release)
        finally:
            sender.records.conclude()
    _stop_if_unlocked(actor)
    if _lost_since(snapshot, sender):
        _guard(plan, sender)
    _stop_if_pending(made, actor)


def _wait(plan: Plan, sender: Sender, snapshot: Snapshot) -> Snapshot:
    """Wait until no node is tainted for an earlier replacement.

    Where a guard or a hold may be there by now they are checked on a fresh snapshot, which is
    answered. The batch goes on with its own, where its moves that have not landed yet stand where
    they will.
    """
    await_placed(sender.actor, sender.records.history)
    return _guard(plan, sender) if _is_outdated(snapshot, sender) else snapshot


def _guard(plan: Plan, sender: Sender) -> Snapshot:
    """Ask the guards and holds on a fresh snapshot, which is answered. Raises: Halted."""
    snapshot = _observe_cluster(plan, sender.actor)
    sender.guard(snapshot)
    return snapshot


def _is_outdated(snapshot: Snapshot, sender: Sender) -> bool:
    """Whether the guards were checked long ago, or a replacement is overdue or lost since."""
    now, timeout = sender.actor.clock(), sender.actor.limits.readyTimeout
    due = (move.at + timeout for move in sender.records.history.moves if move.in_flight)
    overdue = any(snapshot.taken <= time < now for time in due)
    long_ago = sender.guarded is None or now - sender.guarded > _GUARDED_FOR
    return overdue or long_ago or _lost_since(snapshot, sender)


def _lost_since(snapshot: Snapshot, sender: Sender) -> bool:
    """Whether a replacement was lost since this snapshot.

    Whether it is missed only a fresh one tells: its workload may have been scaled or rolled out.
    """
    lost = (
        move for move in sender.records.history.moves if move.state == "lost" and not move.no_worse
    )
    return any(move.settled is not None and move.settled >= snapshot.taken for move in lost)


def _stop_if_pending(made: list[PastMove], actor: Actor) -> None:
    """Stop if the run was stopped while replacements of the batch are still pending."""
    pending_moves = pending_replacements(made)
    if pending_moves:
        raise Halted("ACT014", f"{actor.stop()}; replacements pending: {names_of(pending_moves)}.")

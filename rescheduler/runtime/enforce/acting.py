"""Acting: carries out a plan, move by move, and reports what became of each.

Before each request, in this order: not asked to stop; the move still worth it on a fresh snapshot;
the pod the same, Running and Ready, read again; our own budgets; the intent stored; not paused;
the lock ours until the request must have ended. Whatever fails on the way ends with no eviction.
"""

from collections.abc import Iterator
from itertools import groupby

from rescheduler.model.errors import (
    ActionError,
    LedgerUnreadable,
    LockHeld,
    LockLost,
    PlanExpired,
    SourceError,
)
from rescheduler.model.history import History
from rescheduler.model.plan import MoveResult, Outcome, Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.planning.limits.landing_trust import calibration, distrust
from rescheduler.runtime.enforce.actor import Actor
from rescheduler.runtime.enforce.attempt import Attempts, Halted, problem
from rescheduler.runtime.enforce.awaiting import await_replacements
from rescheduler.runtime.enforce.reconcile import holding

DONE = "ACT013"
_HELD = frozenset({DONE, "GRD005", "GRD006", "GRD009"})
_BROKEN = frozenset({"ACT015", "ACT016", "GRD004"})
_MISSED = frozenset({"ACT011", "ACT017"})


def act(plan: Plan, actor: Actor) -> Outcome:
    """Carry out the plan's Enforce moves, batch by batch, and report what became of each.

    The plan stays as it is; the outcome holds it.
    Never raises for what happens while acting: the verdict says why it stopped, and what was
    evicted until then is in the outcome in any case.

    Raises:
        PlanExpired: the plan may not be applied any more; nothing was done.
    """
    started = actor.clock()
    results = {move.pod.uid: _untried(move) for move in plan.moves}
    known = None
    try:
        with holding(actor) as history:
            if actor.clock() >= plan.expires:
                raise PlanExpired(
                    f"plan {plan.id} expired at {plan.expires:%Y-%m-%d %H:%M:%S} UTC",
                    "make a new plan.",
                )
            known = history
            _trusted(history, actor, plan.cluster.version)
            attempts = Attempts(plan.id, actor, history, results)
            for batch in _batches(plan.moves):
                _carry_out(plan, batch, attempts, actor)
        verdict = problem(DONE)
    except Halted as halt:
        verdict = halt.verdict
    except LockHeld as error:
        verdict = problem("GRD005", error.message)
    except LockLost as error:
        verdict = problem("ACT015", error.message)
    except LedgerUnreadable as error:
        verdict = problem("GRD004", error.message)
    except (ActionError, SourceError) as error:
        verdict = problem("ACT016", error.message)
    learned = plan.calibration
    if known is not None:
        learned = calibration(known, actor.limits, plan.cluster.version)
    return Outcome(
        started=started,
        finished=actor.clock(),
        verdict=verdict,
        moves=tuple(results[move.pod.uid] for move in plan.moves),
        calibration=learned,
        plan=plan,
    )


def exit_code(outcome: Outcome) -> int:
    """0 done or held, 1 broken off by a fault, 3 some moves were refused, failed or not tried."""
    code = outcome.verdict.code
    if code in _BROKEN:
        return 1
    wanted = outcome.enforced
    if code in _HELD and all(move.result == "skipped" for move in wanted):
        return 0
    fine = all(move.result == "evicted" and move.code not in _MISSED for move in wanted)
    return 0 if fine and code == DONE else 3


def _trusted(history: History, actor: Actor, version: str) -> None:
    """Stop where replacements landed elsewhere than predicted too often."""
    problem = distrust(history, actor.limits, version)
    if problem is not None:
        raise Halted(problem.code, problem.message)


def _untried(move: PlannedMove) -> MoveResult:
    audit = " Only Audit policies want it, so it is shown and not acted on."
    message = CATALOG["ACT010"].sentence + (audit if move.mode == "Audit" else "")
    return MoveResult.of(move, "skipped", Problem(code="ACT010", message=message))


def _batches(moves: list[PlannedMove]) -> Iterator[list[PlannedMove]]:
    wanted = sorted((m for m in moves if m.mode == "Enforce"), key=lambda move: move.batch)
    for _, batch in groupby(wanted, key=lambda move: move.batch):
        yield list(batch)


def _carry_out(plan: Plan, batch: list[PlannedMove], attempts: Attempts, actor: Actor) -> None:
    """One batch: a fresh snapshot, its evictions one after the other, then their replacements."""
    reason = actor.stop()
    if reason:
        raise Halted("ACT014", reason)
    snapshot = actor.observe()
    if snapshot.cluster.uid != plan.cluster.uid:
        raise Halted(
            "ACT016",
            f"plan {plan.id} was made for cluster {plan.cluster.uid}, not {snapshot.cluster.uid}",
        )
    _trusted(attempts.history, actor, snapshot.cluster.version)
    attempts.begin(snapshot)
    try:
        for move in batch:
            attempts.attempt(move)
    finally:
        # Even a run that breaks off learns what became of what it evicted, if it may wait.
        entries = [past for _, past in attempts.evicted]
        try:
            await_replacements(actor, attempts.history, entries)
        finally:
            attempts.conclude()
    lost = [past for past in entries if past.state == "lost" and not past.no_worse]
    if lost:
        raise Halted("GRD003", ", ".join(f"{past.namespace}/{past.pod}" for past in lost))

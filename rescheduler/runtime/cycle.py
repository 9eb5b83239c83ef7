"""One cycle: observe, plan, and in Enforce mode act. Audit is the same path, which ends earlier."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from msgspec import structs

from rescheduler import __version__
from rescheduler.acting import run as acting
from rescheduler.acting.actor import Actor, Checks, Recorder, discard_record
from rescheduler.acting.automatic_steering import leave_unsteered
from rescheduler.acting.effective_policies import in_effect
from rescheduler.acting.reconcile import hold_lock
from rescheduler.acting.trail_records import (
    measured_records,
    plan_records,
    record_all,
    snapshot_records,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ActionError, ClocksDiffer, LedgerUnreadable, LockHeld
from rescheduler.model.finding_history import FindingHistory, Observation
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Mode, MoveResult, Outcome, Plan, Report
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.evaluation.effort import UNHURRIED, Effort
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.selections import recognize
from rescheduler.planning.measure.measuring import measure
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.planning.plan.result import Outline
from rescheduler.planning.plan.steering_notes import steering_notes
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.cycle_audit import run_audited
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.observing import Observe
from rescheduler.sources.kubernetes.page_decoding import collector_off

Phase = Callable[[str], AbstractContextManager[None]]


def _skip_timing(_phase: str) -> AbstractContextManager[None]:
    return nullcontext()


class Memory(Protocol):
    """The finding history of earlier cycles; `FindingHistoryStore` is the real one."""

    def read(self) -> FindingHistory:
        """What is remembered; raises ActionError."""
        ...

    def remember(self, observations: Iterable[Observation], now: datetime) -> None:
        """Add what a cycle found; raises ActionError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a cycle is made of, as ports.

    policies: loads them afresh. observe: takes a snapshot with what they need.
    recall: the recent moves, read without the lock, and what to note about them.
    memory: since when earlier cycles have had each finding; None where nothing is remembered.
    remembers: whether what this cycle finds is remembered for the next one.
    actor: what acts on the cluster, from the policies; None where nothing may.
    phase: is entered for each of `observe`, `measure`, `plan` and `act`, to time it.
    recorded: whether the snapshot is a recording.
    record: writes to the audit trail. effort: what looking for moves may cost, from the call on,
    which comes when it begins.
    unsteered: notes what steers and is not set up, as far as those see it who do not act.
    attended: whether people decide on the plan before anything is done by it.
    fit_schedule: the policies with what follows from how often cycles run.
    choose_steering: the policies with what is seen to steer instead of Auto, for who does not act.
    version: asks for that of kube-apiserver.
    last: the plan before, from whose moves this one goes on where its search ended early; one of
    another cluster is left out.
    """

    policies: Callable[[], PolicySet]
    observe: Observe
    recall: Callable[[], tuple[History, list[Problem]]]
    actor: Callable[[PolicySet], Actor] | None = None
    memory: Memory | None = None
    remembers: bool = False
    phase: Phase = _skip_timing
    recorded: bool = False
    record: Recorder = discard_record
    effort: Callable[[], Effort] = lambda: UNHURRIED
    unsteered: Callable[[PolicySet], list[Problem]] = lambda _policies: []
    attended: bool = False
    last: Plan | None = None
    fit_schedule: Callable[[PolicySet, History], PolicySet] = lambda policies, _history: policies
    choose_steering: Callable[[PolicySet], tuple[PolicySet, list[Problem]]] = lambda policies: (
        leave_unsteered(policies),
        [],
    )
    version: Callable[[], str] = lambda: ""


def run_cycle(parts: Parts, *, seed: int = 0) -> Report:
    """Plan, and carry the plan out if there is an actor; answers the plan or its outcome.

    With an actor the lock is taken before the cluster is read, so that no other instance can
    change what the plan is made from. Where another one holds it, or what earlier runs did is not
    known, the outcome is the plan alone and says so.

    Raises:
        PolicyError, SourceError, ActionError: there is no plan, or it cannot be acted on; also
            TrailUnwritable, if an audit trail was requested.
    """
    mode: Mode = "Audit" if parts.actor is None else "Enforce"
    return run_audited(
        parts.record,
        mode,
        parts.policies,
        lambda policy_set: _run(parts, policy_set, seed),
        exit_code,
    )


def _run(parts: Parts, policies: PolicySet, seed: int) -> Report:
    if parts.actor is None:
        history, notes = parts.recall()
        policies, unsteered = parts.choose_steering(parts.fit_schedule(policies, history))
        notes = [*notes, *unsteered]
        return propose(parts, policies, history, notes, mode="Audit", seed=seed)
    actor = parts.actor(policies)
    try:
        with hold_lock(actor) as history:
            fence = actor.ledger.fence
            policies, notes = in_effect(parts.fit_schedule(policies, history), actor, parts.version)
            plan = propose(parts, policies, history, notes, mode="Enforce", seed=seed, actor=actor)
            return carry_out(parts, plan, policies, actor, fence=fence)
    except LockHeld as error:
        verdict = problem("GRD005", error.message)
    except LedgerUnreadable as error:
        verdict = problem("GRD004", error.sentence)
    except ClocksDiffer as error:
        verdict = problem("GRD007", error.sentence)
    plan = propose(parts, policies, *parts.recall(), mode="Enforce", seed=seed)
    return withheld(plan, verdict, actor.clock())


def carry_out(
    parts: Parts, plan: Plan, policies: PolicySet, actor: Actor, *, fence: int | None = None
) -> Outcome:
    """Act on a plan that was made with these policies; each move is checked against them again.

    fence: of the lease transition in which the plan was made, and must be carried out; None takes
    the lock for this plan.
    """
    finding_history, _ = recall_findings(parts, policies)

    def recheck(snapshot: Snapshot, history: History) -> Checks:
        copy = WorkingCopy(
            snapshot,
            policies.policies,
            policies.limits,
            history,
            seed=plan.seed,
            plan=plan.id,
            schedulers=policies.schedulers,
            pinned={scheduler.name: scheduler.digest for scheduler in plan.schedulers},
            finding_history=finding_history,
            attended=parts.attended,
        )
        return Recheck(copy, plan.moves)

    names = frozenset(scheduler.name for scheduler in plan.schedulers)
    with parts.phase("act"):
        return acting.act(plan, replace(actor, recheck=recheck, schedulers=names), fence=fence)


def withheld(plan: Plan, verdict: Problem, at: datetime) -> Outcome:
    """The outcome of a plan whose moves were not tried."""
    untried = Problem(code="ACT010", message=verdict.message)
    return Outcome(
        started=at,
        finished=at,
        verdict=verdict,
        moves=tuple(MoveResult.from_move(move, "skipped", untried) for move in plan.moves),
        calibration=plan.calibration,
        plan=plan,
    )


def propose(
    parts: Parts,
    policies: PolicySet,
    history: History,
    notes: list[Problem],
    *,
    mode: Mode,
    seed: int,
    actor: Actor | None = None,
) -> Plan:
    """Observe and plan, and remember what was found, whatever becomes of the plan.

    actor: holds the lock, so that what earlier moves have brought is measured and stored first.
    """
    with parts.phase("observe"):
        # People who look at a plan are told what a policy would find that judges more.
        requests = policies.requests_to_try() if parts.attended else policies.requests()
        snapshot = parts.observe(requests, policies.limits.own_annotations)
    last = parts.last
    if last is not None and last.cluster.uid != snapshot.cluster.uid:
        last = None
    if actor is None:
        recognize(snapshot, policies, history, acts=False)
    else:
        notes = [*notes, *actor.steering.sweep_strays(snapshot)]
        with parts.phase("measure"):
            _measure(actor, snapshot, policies, history)
    notes = [
        *notes,
        *steering_notes(policies.policies, policies.limits, snapshot, policies.schedulers),
    ]
    if mode == "Audit":
        notes += parts.unsteered(policies)
    record_all(parts.record, snapshot_records(snapshot))
    finding_history, more = recall_findings(parts, policies)
    outline = Outline(
        mode=mode,
        seed=seed,
        tool=f"rescheduler {__version__}",
        recorded=parts.recorded,
        attended=parts.attended,
        suggests=True,
    )
    # Of all that a large snapshot holds nothing is in a cycle, and looking for some takes long.
    with parts.phase("plan"), collector_off():
        plan, observations = plan_and_observations(
            snapshot, policies, history, finding_history, outline, parts.effort, last
        )
    record_all(parts.record, plan_records(plan))
    # Without a finding to remember nobody waits for a memory that cannot be read.
    notes += [
        *(more if observations else []),
        *_remember_findings(parts, observations, snapshot.taken),
    ]
    return structs.replace(plan, notes=[*plan.notes, *notes]) if notes else plan


def _measure(actor: Actor, snapshot: Snapshot, policies: PolicySet, history: History) -> None:
    """Measure what earlier moves have brought, and recognize what the policies select.

    Those whose moves bring too little, or that select what was not shown, are demoted.

    Raises:
        LockLost, LedgerUnreadable, ActionError: it could not be stored.
    """
    before = {move.podUid for move in history.moves if move.gain is not None}
    gains = measure(snapshot, policies, history)
    selected = recognize(snapshot, policies, history, acts=True)
    if gains.changed or selected.changed:
        actor.ledger.write(history)
    fresh = [m for m in history.moves if m.gain is not None and m.podUid not in before]
    record_all(actor.record, measured_records(fresh))
    for demotion in (*gains.demoted.values(), *selected.demoted.values()):
        actor.demoted(demotion)


def recall_findings(parts: Parts, policies: PolicySet) -> tuple[FindingHistory, list[Problem]]:
    """What earlier cycles found, where a policy waits, and what to note about it."""
    if parts.memory is None or not any(policy.span for policy in policies.policies):
        return FindingHistory(), []
    try:
        return parts.memory.read(), []
    except ActionError as error:
        note = (
            f"What earlier cycles found could not be read, so every finding counts as new: {error}"
        )
        return FindingHistory(), [Problem(code="STB003", message=note)]


def _remember_findings(
    parts: Parts, observations: Iterable[Observation], now: datetime
) -> list[Problem]:
    observations = tuple(observations)
    if parts.memory is None or not parts.remembers or not observations:
        return []
    try:
        parts.memory.remember(observations, now)
    except ActionError as error:
        note = f"What this cycle found could not be remembered for the next one: {error}"
        return [Problem(code="STB003", message=note)]
    return []

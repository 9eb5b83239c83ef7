"""Policies that select what nobody has seen yet: they are demoted to Audit until it was shown."""

from dataclasses import dataclass, field
from datetime import datetime

from rescheduler.documents.fields import duration_text
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.selection import (
    GROWTH,
    Selection,
    SelectionRecord,
    SelectionResult,
    records_to_keep,
)
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.never_moved import never_moved
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.shared.inert_rules import inert
from rescheduler.policies.shared.matching import selection_of


@dataclass(slots=True)
class Recognized:
    """What was entered in the history. demoted: SEL001 or SEL002 of each policy demoted just now.

    changed: whether the history must be stored.
    """

    changed: bool = False
    demoted: dict[str, Problem] = field(default_factory=dict)


def recognize(
    snapshot: Snapshot, policies: PolicySet, history: History, *, acts: bool
) -> Recognized:
    """Compare what the policies select with what is known of them, and remember it.

    In the first run that acts every policy is new, and shown first. People may ask to let what is
    selected next be known at once.

    acts: whether a plan is carried out that nobody reviews. Without that, and with nothing known,
    no policy is shown as new: an Audit that keeps no state would show that for ever.
    """
    now, limits = snapshot.taken, policies.limits
    by_policy = {
        selection_record.policy: selection_record for selection_record in history.selections
    }
    current = []
    answer = Recognized(changed=history.acceptSelections)
    accepts = history.acceptSelections or not (acts or by_policy)
    history.acceptSelections = False
    for policy in policies.policies:
        selection, earlier = selection_of(policy, snapshot), by_policy.get(policy.name)
        if accepts:
            record = SelectionRecord.accept_selection(policy.name, policy.meaning, selection, now)
        else:
            record = (earlier or _new_record(policy, now)).next_record(
                policy.meaning, selection, now, limits.auditFirst
            )
        current.append(record)
        begins = record.trial is not None and record.trial.since == now
        problem = demotion(record, selection, limits)
        if problem is not None and begins and policy.mode == "Enforce":
            answer.demoted[policy.name] = problem
    records = records_to_keep(history.selections, current, now)
    answer.changed |= records != history.selections
    history.selections = records
    return answer


def _new_record(policy: Policy, now: datetime) -> SelectionRecord:
    nothing = Selection(0)
    return SelectionRecord(
        policy=policy.name, meaning="", acceptedSelection=nothing, peak=nothing, at=now, seen=now
    )


def result(
    history: History,
    policy: Policy,
    snapshot: Snapshot,
    limits: Limits,
    eligibility: Eligibility,
    *,
    attended: bool,
) -> SelectionResult:
    """What the policy selects and whether it is demoted for that, for the report.

    policy: as its document has it; what is Audit there is not demoted. attended: whether people
    decide on the plan, so that it is not either, and only a run would demote it.
    """
    selection = selection_of(policy, snapshot)
    record = next(
        (
            selection_record
            for selection_record in history.selections
            if selection_record.policy == policy.name
        ),
        None,
    )
    previous = None if record is None or not record.meaning else record.acceptedSelection
    demoted = record is not None and record.demoted and policy.mode == "Enforce"
    trial = record.trial if record is not None and demoted else None
    return SelectionResult(
        pods=selection.pods,
        nodes=selection.nodes,
        knownPods=None if previous is None else previous.pods,
        knownNodes=None if previous is None else previous.nodes,
        demotedAt=trial.since if trial and not attended else None,
        demotedUntil=trial.since + limits.auditFirst if trial and not attended else None,
        problem=demotion(record, selection, limits) if record and trial else None,
        inert=(*inert(policy, snapshot), *never_moved(policy, snapshot, eligibility)),
    )


def demotion(record: SelectionRecord, selection: Selection, limits: Limits) -> Problem | None:
    """SEL001 or SEL002 while a run counts the policy as Audit, or None."""
    trial = record.trial
    if trial is None or not record.demoted:
        return None
    until = f"{trial.since + limits.auditFirst:%Y-%m-%d %H:%M} UTC"
    grown = trial.meaning == record.meaning
    why = "selects far more than before" if grown else "was changed"
    before = f" ({_amounts(record.acceptedSelection)} before"
    if not record.meaning:
        why, before = "is new", ""
    most = f"; up to {GROWTH} times as many would be usual" if grown else ""
    return Problem(
        code="SEL002" if grown else "SEL001",
        message=f"Policy {record.policy} {why}: seen at {trial.since:%H:%M} UTC. It only reports "
        f"until {until} (auditFirst is {duration_text(limits.auditFirst)}). It selects "
        f"{_amounts(selection)}{before}{most}{')' if before else ''}",
    )


def _amounts(selection: Selection) -> str:
    nodes = "" if selection.nodes is None else f" and {count_text(selection.nodes, 'node')}"
    return f"{count_text(selection.pods, 'pod')}{nodes}"

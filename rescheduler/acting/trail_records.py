"""What is written to the audit trail of a plan, of an eviction, and of what became of it."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from msgspec import structs

from rescheduler.actions.evict import EvictionAnswer
from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome, Plan, PlannedMove, Report, Result, plan_in
from rescheduler.model.trails.trail import (
    AnswerRecord,
    CycleEnd,
    FollowUpRecord,
    Guard,
    Input,
    Intent,
    MeasuredRecord,
    MoveEnd,
    Observed,
    Planned,
    PlannedStep,
    PolicyState,
    Record,
    Verdict,
)

_NODES = 20
"""Predicted nodes of a move that are kept, the likeliest first."""
_WARNINGS = 20


def record_all(record: Callable[[Record], None], records: Iterable[Record]) -> None:
    """Write these records in their order; raises TrailUnwritable."""
    for trail_record in records:
        record(trail_record)


def snapshot_records(snapshot: Snapshot) -> Iterator[Record]:
    """The snapshot and its readings."""
    yield Observed(
        cluster=snapshot.cluster.uid,
        taken=snapshot.taken,
        nodes=len(snapshot.nodes),
        pods=len(snapshot.pods),
        unread=snapshot.unread,
    )
    for reading in snapshot.readings.entries:
        yield _input(reading)


def _input(reading: Reading) -> Input:
    has_value = ~np.isnan(reading.values)
    return Input(
        reading=reading.name,
        series=int(has_value.sum()),
        missing=int((reading.expected & ~has_value).sum()),
        coverage=round(reading.coverage, 6),
        maxAgeSeconds=None if reading.age is None else round(reading.age, 3),
        problem=reading.problem,
        warnings=list(reading.notes[:_WARNINGS]),
    )


def plan_records(plan: Plan) -> Iterator[Record]:
    """The plan, what holds it, and each of its moves."""
    yield Planned(
        id=plan.id,
        digest=plan.digest,
        moves=len(plan.moves),
        candidates=plan.totals.candidates,
        scoreBefore=plan.score.before,
        scoreAfter=plan.score.after,
        policies=[
            PolicyState(
                name=policy.name,
                mode=policy.mode,
                weight=policy.weight,
                digest=policy.digest,
                before=policy.cost.before,
                after=policy.cost.after,
                problem=policy.problem,
            )
            for policy in plan.policies
        ],
        refused=plan.totals.refused,
    )
    for guard in plan.guards:
        yield Guard(code=guard.code, message=guard.message)
    for move in plan.moves:
        shown = {"landing": move.landing[:_NODES], "unsteered": move.unsteered[:_NODES]}
        yield PlannedStep(plan=plan.id, move=structs.replace(move, **shown))


def intent(move: PlannedMove, past: PastMove) -> Intent:
    """That this eviction is about to be requested."""
    return Intent(
        uid=past.podUid,
        namespace=past.namespace,
        pod=past.pod,
        source=past.source,
        plan=past.plan,
        fence=past.fence,
        landing={share.node: share.probability for share in move.landing[:_NODES]},
    )


def answer_record(move: PlannedMove, plan: str, answer: EvictionAnswer) -> AnswerRecord:
    """What the API server answered, or what its silence turned out to mean."""
    return AnswerRecord(
        uid=move.pod.uid, plan=plan, result=answer.result, code=answer.code, message=answer.message
    )


def followed_record(past: PastMove, was_on: str | None = None) -> FollowUpRecord:
    """What a look has found of this move.

    was_on: the node of its replacement at the look before; None where that was not looked for.
    """
    predicted = None
    if past.landedOn and was_on not in (None, past.landedOn):
        predicted = past.landing.get(past.landedOn, 0.0)
    result: Result = "refused" if past.state == "refused" else "evicted"
    return FollowUpRecord(
        uid=past.podUid,
        plan=past.plan,
        result="unknown" if past.no_effect else result,
        code=past.code,
        state=past.state,
        node=past.landedOn,
        replacement=past.replacement,
        predicted=predicted,
        seconds=past.readySeconds,
    )


def measured_records(moves: Iterable[PastMove]) -> Iterator[Record]:
    """What each of these moves has brought."""
    for move in moves:
        if move.gain is not None:
            yield MeasuredRecord(uid=move.podUid, plan=move.plan, gain=move.gain)


def end_records(report: Report, code: int, verdict: Verdict) -> Iterator[Record]:
    """What became of each move that was to be made, and how the cycle ended."""
    plan = plan_in(report)
    refused = sum(plan.totals.refused.values())
    if not isinstance(report, Outcome):
        yield CycleEnd(verdict=verdict, exit=code, moves=len(plan.moves), refused=refused)
        return
    for result in report.enforced:
        yield MoveEnd(
            uid=result.pod.uid,
            plan=plan.id,
            result=result.result,
            code=result.code,
            message=result.message,
        )
    said = report.verdict
    if said.code.startswith("GRD"):
        yield Guard(code=said.code, message=said.message)
    yield CycleEnd(
        verdict=verdict,
        exit=code,
        code=said.code,
        message=said.message,
        moves=len(plan.moves),
        evicted=sum(result.result == "evicted" for result in report.enforced),
        refused=refused,
    )

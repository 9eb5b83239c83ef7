"""What is written to the audit trail of a plan, of an eviction, and of what became of it."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from rescheduler.actions.evict import EvictionAnswer
from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.calibration import likeliest
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome, Plan, PlannedMove, Report, Result, plan_in
from rescheduler.model.trails.trail import (
    Answer,
    Became,
    CycleEnd,
    Guard,
    Input,
    Intent,
    Landing,
    Lost,
    Measured,
    Observed,
    Planned,
    PlannedStep,
    PolicyState,
    Ready,
    Record,
    Resolved,
    Verdict,
)

_NODES = 20
"""Predicted nodes of a move that are kept, the likeliest first."""
_WARNINGS = 20


def record_all(record: Callable[[Record], None], records: Iterable[Record]) -> None:
    """Write these records in their order; raises TrailUnwritable."""
    for each in records:
        record(each)


def observed(snapshot: Snapshot) -> Iterator[Record]:
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
    known = ~np.isnan(reading.values)
    return Input(
        reading=reading.name,
        series=int(known.sum()),
        missing=int((reading.expected & ~known).sum()),
        coverage=round(reading.coverage, 6),
        maxAgeSeconds=None if reading.age is None else round(reading.age, 3),
        problem=reading.problem,
        warnings=list(reading.notes[:_WARNINGS]),
    )


def planned(plan: Plan) -> Iterator[Record]:
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
                name=each.name,
                mode=each.mode,
                weight=each.weight,
                digest=each.digest,
                before=each.cost.before,
                after=each.cost.after,
                problem=each.problem,
            )
            for each in plan.policies
        ],
        refused=plan.totals.refused,
    )
    for guard in plan.guards:
        yield Guard(code=guard.code, message=guard.message)
    for move in plan.moves:
        yield PlannedStep(
            plan=plan.id,
            pod=move.pod,
            owner=move.owner,
            source=move.source,
            mode=move.mode,
            batch=move.batch,
            landing=landing(move),
            returns=move.returns,
            unschedulable=move.unschedulable,
            gain=move.gain,
            disruption=move.disruption,
            gains=move.gains,
            reasons=move.reasons,
        )


def landing(move: PlannedMove) -> dict[str, float]:
    """The probability of the likeliest nodes."""
    return likeliest({share.node: share.probability for share in move.landing}, _NODES)


def intent(move: PlannedMove, past: PastMove) -> Intent:
    """That this eviction is about to be requested."""
    return Intent(
        uid=past.podUid,
        namespace=past.namespace,
        pod=past.pod,
        source=past.source,
        plan=past.plan,
        fence=past.fence,
        landing=landing(move),
    )


def answered(move: PlannedMove, plan: str, answer: EvictionAnswer) -> Answer:
    """What the API server answered, or what its silence turned out to mean."""
    return Answer(
        uid=move.pod.uid, plan=plan, result=answer.result, code=answer.code, message=answer.message
    )


def resolved(past: PastMove) -> Resolved:
    """What an eviction without an answer turned out to be."""
    result: Result = "refused" if past.state == "refused" else "evicted"
    if past.no_effect:
        result = "unknown"
    return Resolved(uid=past.podUid, plan=past.plan, result=result, code=past.code)


def followed(was: tuple[str, str, str], past: PastMove) -> Iterator[Record]:
    """What a replacement did since: was is its UID, its node and the move's state before."""
    _, node, state = was
    if past.landedOn and past.landedOn != node:
        yield Landing(
            uid=past.podUid,
            plan=past.plan,
            node=past.landedOn,
            replacement=past.replacement,
            predicted=past.landing.get(past.landedOn, 0.0),
        )
    if past.state == "ready" and state != "ready":
        seconds = past.readySeconds or 0.0
        yield Ready(uid=past.podUid, plan=past.plan, seconds=seconds, code=past.code)
    if past.state == "lost" and state != "lost":
        yield Lost(uid=past.podUid, plan=past.plan, code=past.code)


def measured(moves: Iterable[PastMove]) -> Iterator[Record]:
    """What each of these moves has brought to each policy."""
    for move in moves:
        if move.gain is None:
            continue
        for name, got in move.gain.measured.items():
            yield Measured(
                uid=move.podUid,
                plan=move.plan,
                policy=name,
                promised=move.gain.promised.get(name, 0.0),
                measured=got,
            )


def ending(report: Report, code: int, verdict: Verdict) -> Iterator[Record]:
    """What became of each move that was to be made, and how the cycle ended."""
    plan = plan_in(report)
    refused = sum(plan.totals.refused.values())
    if not isinstance(report, Outcome):
        yield CycleEnd(verdict=verdict, exit=code, moves=len(plan.moves), refused=refused)
        return
    for result in report.enforced:
        yield Became(
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

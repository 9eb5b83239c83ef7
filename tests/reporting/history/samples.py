"""A made-up week of a cluster, as records of an audit trail."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec import structs

from rescheduler.model.moves.gains import Gain
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PlannedMove, PodRef
from rescheduler.model.reasons import CATALOG
from rescheduler.model.trails.trail import (
    AnswerRecord,
    CycleEnd,
    CycleStart,
    FollowUpRecord,
    Guard,
    Intent,
    MeasuredRecord,
    MoveEnd,
    Observed,
    Planned,
    PlannedStep,
    PolicyState,
    Record,
    digest_of_line,
    read_entry,
    read_record,
)
from rescheduler.model.trails.trail_chain import TrailChain
from rescheduler.model.trails.trail_history import Integrity, TrailHistory
from rescheduler.model.trails.trail_line import make_line
from rescheduler.reporting.history.summary import Summary

START = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
POLICIES = {"gpu-hot": 0.42, "zones": 0.25}
REASONS = [
    MoveReason(
        code="UTL001",
        policy="gpu-hot",
        gain=0.42,
        subject="node gpu-a-03",
        finding="94 % of its GPUs are busy, above 85 %",
    ),
    MoveReason(code="FEA014", gang="inference/rankers"),
]

Timed = tuple[datetime, Record]


def move(number: int, plan: str, at: datetime, became: str) -> Iterator[Timed]:
    """A move and what came of it."""
    uid = f"0d1c6f0e-77aa-4f0e-9c1e-{number:012d}"
    workload = ["ranker", "embedder", "tokenizer-with-a-rather-long-name"][number % 3]
    pod = PodRef(namespace="inference", name=f"{workload}-7c9d8b6f5d-{number:05d}", uid=uid)
    source, best = f"gpu-a-{number % 4:02d}", f"gpu-b-{number % 5:02d}"
    landing = {best: 0.72, "gpu-c-01": 0.2}
    yield (
        at,
        PlannedStep(
            plan=plan,
            move=PlannedMove(
                pod=pod,
                owner=OwnerRef(kind="Deployment", name=workload, uid=f"w{number % 3}"),
                source=source,
                batch=1,
                landing=[LandingShare(node=n, probability=p) for n, p in landing.items()],
                returns=0.05,
                unschedulable=0.03,
                gain=0.67,
                disruption=1.0,
                gains=POLICIES,
                reasons=REASONS[number % 2 : 1 + number % 4],
            ),
        ),
    )
    if became == "drift":
        yield at, MoveEnd(uid=uid, plan=plan, result="refused", code="DRF001",
                         message=CATALOG["DRF001"].sentence)  # fmt: skip
        return
    yield at, Intent(uid=uid, namespace=pod.namespace, pod=pod.name, source=source, plan=plan,
                     fence=7, landing=landing)  # fmt: skip
    if became == "budget":
        said = "Cannot evict pod as it would violate the pod's disruption budget."
        yield at, AnswerRecord(uid=uid, plan=plan, result="refused", code="ACT004", message=said)
        yield at, MoveEnd(uid=uid, plan=plan, result="refused", code="ACT004", message=said)
        return
    if became == "silent":
        yield (
            at,
            AnswerRecord(uid=uid, plan=plan, result="unknown", code="ACT009", message="timed out"),
        )
        return
    yield at, AnswerRecord(uid=uid, plan=plan, result="evicted", code="ACT001")
    where = {"back": source, "elsewhere": "gpu-d-09"}.get(became, best)
    later = at + timedelta(seconds=4)
    if became == "lost":
        yield at + timedelta(minutes=5), FollowUpRecord(uid=uid, plan=plan, result="evicted",
                                                  code="ACT011", state="lost")  # fmt: skip
        return
    code = "ACT012" if became == "back" else "ACT001"
    placed = FollowUpRecord(uid=uid, plan=plan, result="evicted", code="ACT001", state="evicted",
                      node=where, replacement=f"r{number}",
                      predicted=landing.get(where, 0.0))  # fmt: skip
    yield later, placed
    yield later, structs.replace(placed, code=code, state="ready", seconds=31.0 + number,
                                 predicted=None)  # fmt: skip
    yield (
        later,
        MoveEnd(uid=uid, plan=plan, result="evicted", code=code, message=CATALOG[code].sentence),
    )


def cycle(number: int, at: datetime, *moves: str) -> Iterator[Timed]:
    """A cycle in Enforce mode, whose moves end as their words say."""
    plan = f"{number:012x}"
    yield at, CycleStart(mode="Enforce", tool="rescheduler 1.0", policies="ab" * 32)
    yield at, Observed(cluster="c-1", taken=at, nodes=40, pods=1200)
    refused = {"ELG016": 40 + number, "BUD002": 12, "FEA002": 3 * (number % 3), "MRG001": 310}
    yield (
        at,
        Planned(
            id=plan,
            digest=plan * 5,
            moves=len(moves),
            candidates=400,
            scoreBefore=81.5 + number / 10,
            scoreAfter=81.9 + number / 10,
            policies=[
                PolicyState(
                    name=name, mode="Enforce", weight=1.0, digest="cd" * 32, before=9.0, after=8.6
                )
                for name in POLICIES
            ],
            refused={code: count for code, count in refused.items() if count},
        ),
    )
    evicted = 0
    for place, became in enumerate(moves):
        yield from move(10 * number + place, plan, at + timedelta(seconds=2 + place), became)
        evicted += became not in ("drift", "budget", "silent")
    yield (
        at + timedelta(seconds=48),
        CycleEnd(
            verdict="done" if evicted == len(moves) else "partly",
            exit=0 if evicted == len(moves) else 3,
            code="ACT013",
            message="The run has ended: every move of the plan was tried.",
            moves=len(moves),
            evicted=evicted,
            refused=sum(refused.values()),
        ),
    )


def week() -> Iterator[Timed]:
    """Seven days, in which most goes well."""
    words = [
        ("good", "good"),
        ("good", "elsewhere"),
        (),
        ("good", "back", "budget"),
        ("good", "drift"),
        ("lost",),
        ("good", "silent"),
    ]
    for number, word in enumerate(words):
        yield from cycle(number, START + timedelta(days=number), *word)
    at = START + timedelta(days=6, hours=1)
    held = "The share of evicted pods without a Ready replacement is above its limit."
    yield at, CycleStart(mode="Enforce", tool="rescheduler 1.0")
    yield at, Planned(id="aa" * 6, digest="aa" * 32, moves=0, candidates=12, scoreBefore=82.4,
                      scoreAfter=82.4, refused={"MRG001": 12})  # fmt: skip
    yield at, Guard(code="GRD003", message=held)
    yield at, CycleEnd(verdict="held", exit=0, code="GRD003", message=held)
    yield at + timedelta(hours=1), CycleStart(mode="Enforce", tool="rescheduler 1.0")
    yield (
        at + timedelta(hours=1, seconds=9),
        CycleEnd(verdict="failed", exit=1, message="GET /api/v1/pods: no answer within 30 s"),
    )
    for number, day in ((0, 0), (1, 0), (10, 1)):
        plan = f"{day:012x}"
        uid = f"0d1c6f0e-77aa-4f0e-9c1e-{number:012d}"
        measured = {name: gain * (0.9 if number else -0.2) for name, gain in POLICIES.items()}
        gain = Gain(at=at + timedelta(hours=2), promised=dict(POLICIES), measured=measured)
        yield gain.at, MeasuredRecord(uid=uid, plan=plan, gain=gain)
    yield at + timedelta(hours=3), CycleStart(mode="Enforce", tool="rescheduler 1.0")


def lines(records: Iterator[Timed], chain: str = "5eedc0de") -> list[bytes]:
    """The lines of a trail with these records, each with its line break."""
    made: list[bytes] = []
    previous, current = "", 0
    for seq, (at, record) in enumerate(records, 1):
        if isinstance(record, CycleStart):
            current = seq
        line = make_line(record, chain=chain, seq=seq, at=at, cycle=current, previous=previous)
        made.append(line + b"\n")
        previous = digest_of_line(line)
    return made


def history(made: list[bytes], since: datetime | None = None) -> TrailHistory:
    """What these lines say."""
    chain, summary = TrailChain(), Summary(since)
    for number, line in enumerate(made, 1):
        entry = chain.add(line, "audit-trail.jsonl", number)
        if entry is not None:
            record = read_record(read_entry(line.strip()))
            assert record is not None
            summary.add(entry, record)
    chain.finish()
    integrity = Integrity(
        records=chain.records,
        broken=chain.broken,
        problems=chain.problems,
        warnings=chain.warnings,
        lastHash=chain.last,
    )
    return summary.history(integrity, tool="rescheduler 1.0", source="/var/log/rescheduler/")


def good_week() -> TrailHistory:
    """A whole trail."""
    return history(lines(week()))


def broken_week() -> TrailHistory:
    """A trail of which a line was changed and another one was cut off at its end."""
    made = lines(week())
    made[5] = made[5].replace(b'"evicted"', b'"refused"')
    return history([*made[:-1], made[-1][:90]])


def nothing() -> TrailHistory:
    """An empty trail."""
    return history([])


SAMPLES = {"history": good_week, "history-broken": broken_week, "history-empty": nothing}

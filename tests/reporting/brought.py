"""What sample reports say of earlier moves: what they promised and what they have brought."""

from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from rescheduler.model.moves.plan import GainsResult, MeasuredMove, PodRef, PolicyResult
from rescheduler.model.moves.selection import SelectionResult
from rescheduler.model.problem import Problem

_POLICY = "gpu-utilization"


def helping() -> GainsResult:
    """Moves that bring what they promise."""
    return GainsResult(promised=31.4, measured=29.8, moves=12)


def helped(policies: list[PolicyResult]) -> list[PolicyResult]:
    """The first of these policies with moves that help."""
    return [structs.replace(policies[0], brought=helping()), *policies[1:]]


def short() -> GainsResult:
    """Moves that bring too little so far."""
    message = (
        "The moves for policy zone-spread have measured 0.3 of 1.9 promised (16%) over 4 moves; "
        "below 50% (minMeasuredShare) over 10 moves, by more than noise explains, it is demoted "
        "to Audit"
    )
    return GainsResult(
        promised=1.9, measured=0.3, moves=4, problem=Problem(code="MSR002", message=message)
    )


def demoted(at: datetime) -> GainsResult:
    """A policy that was demoted two hours ago."""
    message = (
        "Policy gpu-utilization counts as Audit until 2026-11-22 12:02 UTC: its moves measured "
        "-0.42 of 24.6 promised (-2%) over 10 moves; at least 50% must be (minMeasuredShare)"
    )
    return GainsResult(
        promised=0.0,
        measured=0.0,
        moves=0,
        demotedAt=at - timedelta(hours=2),
        demotedUntil=at + timedelta(hours=22),
        problem=Problem(code="MSR001", message=message),
    )


def demoting(policies: list[PolicyResult], at: datetime) -> list[PolicyResult]:
    """The first of these policies demoted, and the second one near to it, and changed."""
    second = structs.replace(policies[1], mode="Audit", brought=short(), selection=changed(at))
    return [structs.replace(policies[0], mode="Audit", brought=demoted(at)), second]


def changed(at: datetime) -> SelectionResult:
    """What a policy selects that was edited ten minutes ago."""
    message = (
        "Policy zone-spread was changed: seen at 13:52 UTC. It only reports until 2026-11-21 14:52 "
        "UTC (auditFirst is 1h). It selects 431 pods and 60 nodes (96 pods and 60 nodes before)"
    )
    return SelectionResult(
        pods=431,
        nodes=60,
        knownPods=96,
        knownNodes=60,
        demotedAt=at - timedelta(minutes=10),
        demotedUntil=at + timedelta(minutes=50),
        problem=Problem(code="SEL001", message=message),
        inert=("constraints.1.topologyKey: no node has the label rack",),
    )


def measured(at: datetime) -> list[MeasuredMove]:
    """One that helped, one that did not, one whose cause has gone, and one that is not known."""
    return [
        _one(at, 0, "bert-train-1", promised={_POLICY: 5.9}, measured={_POLICY: 5.6}),
        _one(at, 1, "llama-serve-7d9f86c5b4-7hq2v", promised={_POLICY: 4.1, "zone-spread": 0.5},
             measured={_POLICY: -0.2, "zone-spread": 0.5}),
        _one(at, 2, "segment-5c9b7d4f68-mm4tc", promised={_POLICY: 0.1}, measured={_POLICY: 0.2},
             neutral=[_POLICY]),
        _one(at, 3, "whisper-large-streaming-6b8f9d7c5-2xk8d", landedOn=None,
             problem=Problem(code="MSR003", message="its replacement is gone")),
        _one(at, 30, "cart-6d9f8c7b5d-9vw4n", promised={"zone-spread": 1.0},
             measured={"zone-spread": 1.0}),
        _one(at, 31, "cart-6d9f8c7b5d-k7d2s", promised={"zone-spread": 1.0},
             measured={"zone-spread": 0.0}),
    ]  # fmt: skip


def _one(at: datetime, number: int, pod: str, **fields: Any) -> MeasuredMove:
    """A move that was evicted half an hour or more before `at`; older ones were measured then."""
    evicted = at - timedelta(hours=number, minutes=31)
    values: dict[str, Any] = {
        "pod": PodRef(namespace="ml", name=pod, uid=f"uid-{pod}"),
        "plan": f"{number:012x}",
        "node": f"gpu-a-{number % 20 + 1:02d}",
        "landedOn": f"gpu-b-{number % 20 + 2:02d}",
        "evicted": evicted,
        "at": evicted + timedelta(minutes=31),
        "predicted": {_POLICY: 6.2},
        **fields,
    }
    return MeasuredMove(**values)

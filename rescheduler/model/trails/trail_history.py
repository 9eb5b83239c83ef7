"""What an audit trail says about the past: cycles, moves, what they brought, what was prevented."""

from datetime import datetime

import msgspec

from rescheduler.model.moves.plan import Mode, OwnerRef, PodRef, Result
from rescheduler.model.problem import Problem

SCHEMA_VERSION = "1"


class PastCycle(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle. verdict: how it ended; "unfinished" where its end is not in the trail.

    moves: planned. refused: candidates that planning left alone. score: 0 to 100, before and after
    the plan as predicted.
    """

    started: datetime
    seconds: float | None
    mode: Mode
    verdict: str
    code: str
    message: str
    exit: int | None
    plan: str
    moves: int
    evicted: int
    refused: int
    scoreBefore: float | None
    scoreAfter: float | None


class PastStep(msgspec.Struct, frozen=True, kw_only=True):
    """One move that was tried.

    expected: the likeliest node when the eviction was sent, and probability: its probability.
    predicted: the probability that the node where it landed had. promised: the expected decrease of
    the weighted cost. brought: the measured one; None where it was not measured. gains, measured:
    by policy, unweighted.
    """

    at: datetime
    plan: str
    pod: PodRef
    owner: OwnerRef | None
    source: str
    expected: str
    probability: float | None
    landedOn: str
    predicted: float | None
    readySeconds: float | None
    result: Result
    code: str
    message: str
    reasons: list[Problem]
    promised: float | None
    brought: float | None
    gains: dict[str, float]
    measured: dict[str, float]


class Prevented(msgspec.Struct, frozen=True, kw_only=True):
    """What was held back for one reason.

    stage: planning (candidates that were left alone), guard (whole cycles), eviction (moves of a
    plan that were not made). cycles: in how many it happened. most: in one cycle. days: the most in
    one cycle of each day (UTC).
    """

    code: str
    stage: str
    sentence: str
    advice: str
    cycles: int
    most: int
    first: datetime
    last: datetime
    days: dict[str, int]


class PastTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all cycles and moves that are listed.

    asPredicted, onLikeliest: of the replacements that landed, on a node that was predicted, and on
    the likeliest one. returned: to the node that they left. promised: by the moves that were made.
    compared: moves whose gain was measured; measured, promisedOfCompared: theirs, over the same
    policies. perPromised, perMeasured: evictions for each 1.0 of cost that they were to take away,
    and did. All gains are weighted.
    """

    cycles: int
    failed: int
    unfinished: int
    evicted: int
    refused: int
    unknown: int
    landed: int
    asPredicted: int
    onLikeliest: int
    returned: int
    lost: int
    ready: int
    readySeconds: float | None
    promised: float
    compared: int
    promisedOfCompared: float
    measured: float
    perPromised: float | None
    perMeasured: float | None


class Integrity(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the records follow on each other. broken: places where they do not."""

    records: int
    broken: int
    problems: list[str]
    warnings: list[str]
    lastHash: str


class TrailHistory(msgspec.Struct, frozen=True, kw_only=True, tag="History", tag_field="kind"):
    """What was moved and why, where it went, whether it helped, and what was prevented.

    source: where the trail was read. since: what began earlier is left out.
    """

    schemaVersion: str = SCHEMA_VERSION
    tool: str
    source: str
    since: datetime | None
    first: datetime | None
    last: datetime | None
    totals: PastTotals
    moves: list[PastStep]
    cycles: list[PastCycle]
    prevented: list[Prevented]
    integrity: Integrity

"""What an audit trail says about the past: cycles, moves, what they brought, what was prevented."""

from datetime import datetime
from typing import Annotated

import msgspec

from rescheduler.model.field_doc import SchemaVersion, doc
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import Mode, OwnerRef, PodRef, Result

SCHEMA_VERSION = "1"


class PastCycle(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle."""

    started: Annotated[datetime, doc("When it began.")]
    seconds: Annotated[
        float | None, doc("How long it took; null where its end is not in the trail.")
    ]
    mode: Annotated[Mode, doc("Audit changes nothing; Enforce may evict.")]
    verdict: Annotated[str, doc("planned, done, partly, held, failed, or unfinished.")]
    code: Annotated[str, doc("Reason code of its end, if it has one.")]
    message: Annotated[str, doc("A sentence about its end.")]
    exit: Annotated[int | None, doc("Exit code, or null.")]
    plan: Annotated[str, doc("Id of its plan; empty where there was none.")]
    moves: Annotated[int, doc("Moves that were planned.")]
    evicted: Annotated[int, doc("Evictions that the API server accepted.")]
    refused: Annotated[int, doc("Candidates that planning left alone.")]
    scoreBefore: Annotated[float | None, doc("Score before, 0 to 100, or null.")]
    scoreAfter: Annotated[float | None, doc("Score after the plan as predicted, or null.")]


class PastStep(msgspec.Struct, frozen=True, kw_only=True):
    """One move that was tried."""

    at: Annotated[datetime, doc("When the eviction was announced, or refused before.")]
    plan: Annotated[str, doc("Id of the plan.")]
    pod: Annotated[PodRef, doc("The pod.")]
    owner: Annotated[
        OwnerRef | None, doc("Its workload, or null where its plan is not in the trail.")
    ]
    source: Annotated[str, doc("The node that it was to leave.")]
    expected: Annotated[
        str, doc("The likeliest node when the eviction was sent; empty: none is known.")
    ]
    probability: Annotated[float | None, doc("The probability that this node had, or null.")]
    landedOn: Annotated[str, doc("Node of the replacement; empty where none was seen.")]
    predicted: Annotated[
        float | None, doc("Probability that this node had when the eviction was sent, or null.")
    ]
    readySeconds: Annotated[
        float | None, doc("From the intent until the replacement was Ready, or null.")
    ]
    result: Annotated[Result, doc("What became of the eviction.")]
    code: Annotated[str, doc("Reason code of the result.")]
    message: Annotated[str, doc("A sentence about the result.")]
    reasons: Annotated[list[MoveReason], doc("Why it was to be moved: the findings.")]
    promised: Annotated[float | None, doc("Expected decrease of the weighted cost, or null.")]
    brought: Annotated[
        float | None, doc("Measured decrease of the weighted cost; null where it was not measured.")
    ]
    gains: Annotated[dict[str, float], doc("Promised gain of each policy, unweighted.")]
    measured: Annotated[dict[str, float], doc("Measured gain of each policy, unweighted.")]


class Prevented(msgspec.Struct, frozen=True, kw_only=True):
    """What was held back for one reason."""

    code: Annotated[str, doc("Reason code.")]
    stage: Annotated[
        str,
        doc(
            "planning: candidates stay. guard: whole cycles are held. eviction: moves are not made."
        ),
    ]
    sentence: Annotated[str, doc("What the code means.")]
    advice: Annotated[str, doc("What a person can do about it.")]
    cycles: Annotated[int, doc("Cycles in which it happened.")]
    most: Annotated[int, doc("How often in one cycle, at most.")]
    first: Annotated[datetime, doc("When it first happened.")]
    last: Annotated[datetime, doc("When it last happened.")]
    days: Annotated[dict[str, int], doc("The most in one cycle, for each day (UTC).")]


class PastTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all cycles and moves that are listed; all gains are weighted."""

    cycles: Annotated[int, doc("Cycles that began.")]
    failed: Annotated[int, doc("Of these, broken off.")]
    unfinished: Annotated[int, doc("Of these, without an end in the trail.")]
    evicted: Annotated[int, doc("Evictions that the API server accepted.")]
    refused: Annotated[
        int, doc("Moves that were refused: by our own re-check or by the API server.")
    ]
    unknown: Annotated[int, doc("Requests with an unknown outcome: they may have taken effect.")]
    landed: Annotated[int, doc("Replacements whose node is known.")]
    asPredicted: Annotated[int, doc("Of these, on a node that was predicted.")]
    onLikeliest: Annotated[int, doc("Of these, on the likeliest node.")]
    returned: Annotated[int, doc("Of these, on the node that they had left.")]
    lost: Annotated[int, doc("Evictions after which no replacement was Ready in time.")]
    ready: Annotated[int, doc("Replacements that became Ready.")]
    readySeconds: Annotated[float | None, doc("Mean time from the intent until Ready, or null.")]
    promised: Annotated[
        float, doc("Decrease of the weighted cost that the evictions were to bring.")
    ]
    compared: Annotated[int, doc("Evictions whose gain was measured afterwards.")]
    promisedOfCompared: Annotated[
        float, doc("Decrease of the cost that these were to bring to the policies measured.")
    ]
    measured: Annotated[float, doc("What they brought to the same policies, weighted alike.")]
    perPromised: Annotated[
        float | None, doc("Evictions for each 1.0 of cost that they were to take away, or null.")
    ]
    perMeasured: Annotated[
        float | None, doc("The same for the cost that they took away; null: none, or not measured.")
    ]


class Integrity(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the records follow on each other."""

    records: Annotated[int, doc("Records that were read.")]
    broken: Annotated[int, doc("Places where the chain of records is broken.")]
    problems: Annotated[list[str], doc("The first of these places, each as file:line.")]
    warnings: Annotated[
        list[str], doc("What is odd and breaks nothing, as a line that was cut off.")
    ]
    lastHash: Annotated[
        str, doc("SHA-256 of the last record: kept elsewhere, it shows a chain created again.")
    ]


class TrailHistory(msgspec.Struct, frozen=True, kw_only=True, tag="History", tag_field="kind"):
    """What was moved and why, where it went, whether it helped, and what was prevented."""

    schemaVersion: SchemaVersion = SCHEMA_VERSION
    tool: Annotated[str, doc("Name and version of the program that wrote this.")]
    source: Annotated[str, doc("Where the audit trail was read.")]
    since: Annotated[
        datetime | None, doc("What began earlier is left out; null leaves nothing out.")
    ]
    first: Annotated[datetime | None, doc("Time of the first record that is considered, or null.")]
    last: Annotated[datetime | None, doc("Time of the last record, or null.")]
    totals: Annotated[PastTotals, doc("Sums over the cycles and moves below.")]
    moves: Annotated[list[PastStep], doc("Moves that were tried, the newest first.")]
    cycles: Annotated[list[PastCycle], doc("Cycles, the newest first.")]
    prevented: Annotated[list[Prevented], doc("What was held back, by reason.")]
    integrity: Annotated[Integrity, doc("Whether the records follow on each other.")]

"""Record types of the audit trail, and the line that holds one.

A line is a `TrailEntry`: the record with its number, the API server's time, and the SHA-256 of the
line before it, so that a line that was changed, lost or moved shows. Who can write the file can
also write a whole new chain: keep the last hash, or a copy, where they cannot. Lines are ASCII, at
most 64 KiB long. A new type of record needs no new version: readers skip those they do not know.
"""

import hashlib
from datetime import datetime
from typing import Literal

import msgspec

from rescheduler.model.moves.gains import Gain
from rescheduler.model.moves.past_move import State
from rescheduler.model.moves.plan import Mode, PlannedMove, Result
from rescheduler.model.problem import Problem

VERSION = 1
MARK = b'{"trail":'
"""How each line begins; other lines of a log do not."""

Verdict = Literal[
    "planned",  # Audit: there is a plan, and nothing was to be done
    "done",  # every move of the plan was made
    "partly",  # a policy was not evaluated, or a move was refused or not tried
    "held",  # a guard, a pause or another instance held it
    "failed",  # it broke off
]


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=True
):
    """What happened; `type` says what kind of record it is."""


class CycleStart(Record, frozen=True, kw_only=True, tag="cycle_start"):
    """A cycle begins. policies: SHA-256 over the digests of all policies; "" if none were usable.

    The number of this record is the number of the cycle.
    """

    mode: Mode
    tool: str = ""
    policies: str = ""


class Input(Record, frozen=True, kw_only=True, tag="input"):
    """How good a reading was. series: subjects with a value. missing: those without that need one.

    maxAgeSeconds: the age of the oldest value that was used.
    """

    reading: str
    series: int
    missing: int
    coverage: float
    maxAgeSeconds: float | None = None
    problem: Problem | None = None
    warnings: list[str] = []


class Observed(Record, frozen=True, kw_only=True, tag="snapshot"):
    """The snapshot that a plan was made from. unread: kinds that could not be listed."""

    cluster: str
    taken: datetime
    nodes: int
    pods: int
    unread: list[str] = []


class PolicyState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A policy in a plan: which, and its cost before and after, as predicted; unweighted."""

    name: str
    mode: Mode
    weight: float
    digest: str
    before: float
    after: float
    problem: Problem | None = None


class Planned(Record, frozen=True, kw_only=True, tag="plan"):
    """A plan; its moves follow as records of their own. refused: candidates counted by code."""

    id: str
    digest: str
    moves: int
    candidates: int
    scoreBefore: float | None = None
    scoreAfter: float | None = None
    policies: list[PolicyState] = []
    refused: dict[str, int] = {}


class PlannedStep(Record, frozen=True, kw_only=True, tag="move"):
    """A move of a plan. move: with the likeliest nodes of its landings alone."""

    plan: str
    move: PlannedMove


class Intent(Record, frozen=True, kw_only=True, tag="intent"):
    """An eviction is about to be requested: none is sent before this is on the disk.

    landing: as predicted on the snapshot right before, the likeliest nodes.
    """

    uid: str
    namespace: str
    pod: str
    source: str
    plan: str
    fence: int
    landing: dict[str, float] = {}


class OfMove(Record, frozen=True, kw_only=True):
    """What is known of one move at a time. uid: of the pod that it evicts."""

    uid: str
    plan: str
    result: Result
    code: str
    message: str = ""


class AnswerRecord(OfMove, frozen=True, kw_only=True, tag="answer"):
    """What the API server answered to one eviction; exactly one for each request that returned."""


class FollowUpRecord(OfMove, frozen=True, kw_only=True, tag="followed"):
    """What a later look has found that is new: of a replacement, or of an unanswered request.

    state: as the table of states has it. node: of the replacement, "" while it is on none.
    predicted: the probability of that node when the eviction was sent, once it is seen there.
    seconds: from the intent until the replacement was first Ready.
    """

    state: State
    node: str = ""
    replacement: str = ""
    predicted: float | None = None
    seconds: float | None = None


class MoveEnd(OfMove, frozen=True, kw_only=True, tag="outcome"):
    """What a move of a plan had come to at the end of the cycle, also where none was requested."""


class MeasuredRecord(Record, frozen=True, kw_only=True, tag="measured"):
    """What a move really brought to each policy, unweighted like the promised gain."""

    uid: str
    plan: str
    gain: Gain


class Guard(Record, frozen=True, kw_only=True, tag="guard"):
    """Something holds the whole cycle."""

    code: str
    message: str


class Repaired(Record, frozen=True, kw_only=True, tag="repaired"):
    """A line that was cut off, as by a crash, was taken away. text: its beginning."""

    file: str
    bytes: int
    text: str = ""


class CycleEnd(Record, frozen=True, kw_only=True, tag="cycle_end"):
    """A cycle ends. code, message: why it ended as it did. exit: the code of the process."""

    verdict: Verdict
    exit: int
    code: str = ""
    message: str = ""
    moves: int = 0
    evicted: int = 0
    refused: int = 0


AnyRecord = (
    CycleStart
    | Input
    | Observed
    | Planned
    | PlannedStep
    | Intent
    | AnswerRecord
    | FollowUpRecord
    | MoveEnd
    | MeasuredRecord
    | Guard
    | Repaired
    | CycleEnd
)

AFTERWARDS = (AnswerRecord, FollowUpRecord, MoveEnd, MeasuredRecord)
"""Records of what has happened already: where they cannot be written, nothing can be held back."""


class TrailEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a trail.

    chain: the same for all lines that follow on each other. seq: from 1, without gaps. cycle: the
    seq of the cycle's first record; 0 outside of any. previous: SHA-256 of the line before, without
    its line break; "" before the first. cut: what was left out to keep the line short.
    """

    trail: int
    chain: str
    seq: int
    at: datetime
    cycle: int
    previous: str
    cut: list[str] = []
    record: msgspec.Raw


_entry: msgspec.json.Decoder[TrailEntry] = msgspec.json.Decoder(TrailEntry)
_record: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


def read_entry(line: bytes) -> TrailEntry:
    """The entry of a line.

    Raises:
        ValueError: it is none, or one of another version.
    """
    try:
        entry = _entry.decode(line)
    except RecursionError as error:
        raise ValueError("it nests too deeply") from error
    if entry.trail != VERSION:
        raise ValueError(f"its version is {entry.trail}, and this one reads {VERSION} only")
    if entry.at.tzinfo is None:
        raise ValueError(f"its time {entry.at.isoformat()} has no offset from UTC")
    return entry


def read_record(entry: TrailEntry) -> AnyRecord | None:
    """The record of an entry; None where it is of a type that this version does not know."""
    try:
        return _record.decode(entry.record)
    except (msgspec.ValidationError, RecursionError):
        return None


def digest_of_line(line: bytes) -> str:
    """What the next line names this one by. line: without its line break."""
    return hashlib.sha256(line).hexdigest()

"""The plan and the outcome, as they are written to JSON and read back.

The field names are the file format that other tools rely on; `schemaVersion` changes when one of
them changes its meaning. Nothing here is written in place: acting leaves the plan as it was
reviewed, and makes an outcome that holds it.

A move is known by the UID of its pod: in the plan, in the outcome, and in the ledger, where the
plan's id stands beside it. A UID can be evicted once only, so none stands for two moves.
"""

from datetime import datetime
from typing import Any, Literal

import msgspec

from rescheduler.model.finding_count import FindingCount
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.restart_cost import RestartCost, StopRef
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.moves.selection import SelectionResult
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.model.problem import Problem

SCHEMA_VERSION = "2"

Mode = Literal["Audit", "Enforce"]

Subject = Literal["pods", "nodes"]
"""What a policy evaluates."""

Result = Literal[
    "evicted",  # accepted by the API server
    "refused",  # the re-check or the API server said no
    "unknown",  # no answer, and not resolved yet
    "skipped",  # not tried: the run stopped before it
]


class PodRef(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, pinned by its UID."""

    namespace: str
    name: str
    uid: str
    resourceVersion: str = ""


class OwnerRef(msgspec.Struct, frozen=True, kw_only=True):
    """The workload of a pod, and the controller that makes its replacement."""

    kind: str
    name: str
    uid: str
    controllerKind: str = ""
    controllerUid: str = ""


class LandingShare(msgspec.Struct, frozen=True, kw_only=True):
    """One node where the replacement may land."""

    node: str
    probability: float


class BudgetUse(msgspec.Struct, frozen=True, kw_only=True):
    """The PodDisruptionBudget that a move spends, and what was left when it was planned."""

    name: str
    allowed: int


class PlannedMove(msgspec.Struct, frozen=True, kw_only=True):
    """One move of a plan.

    landing: as predicted when it was planned.
    gain: expected decrease of the weighted cost. disruption: its cost in pods (1.0 = a plain pod).
    gains: the unweighted gain of each policy by name. usage: load that moves, by reading name.
    hot: by policy, what is hot on the node that it leaves, where more is to be relieved than that.
    mode: Audit when only Audit policies want it; such a move is shown and never acted on.
    restart: the part of the disruption that starts again; None where it is not known.
    """

    pod: PodRef
    owner: OwnerRef
    source: str = msgspec.field(name="node")
    """The node that the pod leaves; `node` in the file."""
    landing: list[LandingShare]
    returns: float
    unschedulable: float
    gain: float
    disruption: float
    batch: int
    mode: Mode = "Enforce"
    reasons: list[Problem] = []
    gains: dict[str, float] = {}
    usage: dict[str, float] = {}
    hot: dict[str, list[str]] = {}
    budget: BudgetUse | None = None
    crashLooping: bool = False  # it is moved because it is not Ready, as long as it crash-loops
    restart: RestartCost | None = None
    group: str = ""  # the gang that is moved as a whole: all moves of the plan with it, or none
    stops: StopRef | None = None  # what Kueue stops and starts instead of evicting the group
    room: str = ""  # the gang that it makes room for: all moves of the plan with it, or none
    steered: Steered | None = None  # how its replacement is steered, as the landing has it
    unsteered: list[LandingShare] = []  # the landing of a steered move without steering
    after: list[str] = []  # UIDs of the pods that make room for it, whose replacements are Ready
    gangMinimum: int | None = None  # Ready pods that the gang of a pod moved alone must keep


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one planned move.

    landing, returns, unschedulable: as predicted right before the eviction was sent, which is what
    the real landing is measured against; as planned where none was sent.
    """

    pod: PodRef
    result: Result
    code: str
    message: str
    landing: list[LandingShare]
    returns: float
    unschedulable: float
    landedOn: str | None = None
    predicted: float | None = None  # of the node where it landed, when the eviction was sent
    readySeconds: float | None = None

    @classmethod
    def from_move(cls, move: PlannedMove, result: Result, code: Problem) -> "MoveResult":
        """The result of this move, as no landing is seen yet."""
        return cls(
            pod=move.pod,
            result=result,
            code=code.code,
            message=code.message,
            landing=move.landing,
            returns=move.returns,
            unschedulable=move.unschedulable,
        )


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that is left alone, and why."""

    pod: PodRef
    code: str
    message: str
    owner: OwnerRef | None = None
    node: str = ""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A policy's cost before and after the plan (or as predicted, in an outcome)."""

    before: float
    after: float


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A number before and after the plan; None is not known."""

    before: float | None
    after: float | None


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as reports show it."""

    code: str
    subject: str
    cost: float
    message: str


class GainsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the moves for a policy's sake have brought, in its unweighted cost.

    promised: as the policy predicts it under the load when they were measured. moves: how many
    count; none of those that it was demoted for. demotedAt, demotedUntil: while it is demoted.
    problem: MSR001 while it is demoted, MSR002 where its moves bring too little.
    """

    promised: float
    measured: float
    moves: int
    demotedAt: datetime | None = None
    demotedUntil: datetime | None = None
    problem: Problem | None = None


class MeasuredMove(msgspec.Struct, frozen=True, kw_only=True):
    """What one earlier move has brought, by policy, in its unweighted cost.

    predicted: when it was planned. promised: the same under the load when it was measured.
    neutral: the policies to which it promises next to nothing by now, so that it does not count.
    problem: why it was not measured.
    """

    pod: PodRef
    plan: str
    node: str
    landedOn: str | None
    evicted: datetime
    at: datetime
    predicted: dict[str, float] = {}
    promised: dict[str, float] = {}
    measured: dict[str, float] = {}
    neutral: list[str] = []
    problem: Problem | None = None


class PolicyResult(msgspec.Struct, frozen=True, kw_only=True):
    """One policy's result for the placement.

    problem: why the policy was not evaluated (no data); then its costs are 0 and mean nothing.
    """

    name: str
    kind: str
    mode: Mode
    weight: float
    cost: Cost
    scope: int = 0  # how many of its subject the policy evaluates
    subject: Subject = "pods"
    worst: float = 0.0
    """The highest cost that this policy could have here: what a score of 0 means."""
    digest: str = ""
    source: str = ""
    findings: list[FindingView] = []
    problem: Problem | None = None
    brought: GainsResult | None = None  # by its moves; None where none was measured
    selection: SelectionResult | None = None
    idle: list[IdleHolder] = []
    found: list[FindingCount] = []  # what it finds that can be counted
    room: list[GangRoom] = []  # the gangs that wait, where the policy makes room for them
    document: dict[str, Any] = {}
    """The policy's whole document as JSON, from which `apply` makes the same policy again."""

    def demoted_since(self) -> list[datetime]:
        """Since when it counts as Audit, for each reason that it does for."""
        whys = (self.brought, self.selection)
        return [
            result.demotedAt
            for result in whys
            if result is not None and result.demotedAt is not None
        ]


class ReadingResult(msgspec.Struct, frozen=True, kw_only=True):
    """How good a reading was. ageSeconds: the oldest value that was used."""

    name: str
    coverage: float
    ageSeconds: float | None
    windowSeconds: float
    maxAgeSeconds: float
    minCoverage: float
    unit: str
    query: str
    notes: list[str] = []
    problem: Problem | None = None


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node before and after: pods, and its load by reading name (0 to 1)."""

    name: str
    zone: str
    pods: Change
    load: dict[str, Change] = {}


class ClusterRef(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that the plan is for."""

    uid: str
    version: str = ""
    name: str = ""


class LandingRates(msgspec.Struct, frozen=True, kw_only=True):
    """How landings compared with their predictions; later ones weigh more.

    kind: of the controller, empty for all kinds. brier: 0 is perfect, 2 the worst there is;
    expectedBrier: what it would be if the predicted probabilities were right.
    """

    kind: str
    version: str
    compared: int
    hitRate: float
    likeliestRate: float
    brier: float
    expectedBrier: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of predicted landings. problem: why pods of a kind stay, or None."""

    scheduler: str
    overall: LandingRates | None = None
    kinds: list[LandingRates] = []
    problem: Problem | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The size of what was evaluated. candidates: pods whose move could lower a cost."""

    nodes: int
    pods: int
    candidates: int
    moves: int
    disruption: float
    refused: dict[str, int] = {}  # candidates by code; `Plan.refused` may list only some of each
    unsteered: dict[str, int] = {}  # moves that steering leaves out, by code; "": it gains nothing


class SchedulerResult(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler whose decisions the plan counts on: its profile and source, and its version.

    problem: why its decisions are not predicted; its pods are left alone.
    """

    name: str
    source: str
    version: str = ""
    digest: str = ""
    profile: dict[str, Any] = {}
    """All that the model follows of it: plugins, weights and arguments."""
    document: dict[str, Any] = {}
    """The Scheduler document that declares it, from which `apply` makes the same profile again."""
    problem: Problem | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True, tag="Plan", tag_field="kind"):
    """A plan: all that is needed to review it, to apply it, and to explain it afterwards.

    id: the first characters of digest. digest: SHA-256 over all that decides (see `plan_digest`),
    so that two runs on the same snapshot, policies and seed have the same one, whatever the mode;
    where a search ended early, with the same last plan too.
    recorded: whether it was made from a recorded snapshot. guards: what holds the whole cycle.
    """

    schemaVersion: str = SCHEMA_VERSION
    id: str = ""
    digest: str = ""
    tool: str = ""
    mode: Mode = "Audit"
    cluster: ClusterRef
    created: datetime
    expires: datetime
    taken: datetime
    recorded: bool = False
    seed: int = 0
    totals: Totals
    score: Change = msgspec.field(default_factory=lambda: Change(before=None, after=None))
    policies: list[PolicyResult]
    found: list[FindingCount] = []  # what all policies together find that can be counted
    readings: list[ReadingResult]
    schedulers: list[SchedulerResult] = []
    guards: list[Problem] = []
    moves: list[PlannedMove]
    refused: list[Refusal]
    nodes: list[NodeView] = []
    limits: dict[str, Any] = {}  # the `spec` of the Limits document, every field written out
    ownReadings: list[dict[str, Any]] = []  # the documents of kind Readings, likewise
    notes: list[Problem] = []  # about the data itself: what could not be decoded, or not read
    calibration: Calibration | None = None
    measuredMoves: list[MeasuredMove] = []  # what earlier moves have brought, the latest first
    search: SearchSummary | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True, tag="Outcome", tag_field="kind"):
    """What became of a plan that was acted on.

    plan: as it was made and reviewed. moves: one result for each of its moves, in their order.
    verdict: how acting ended. calibration: how landings compared, as of the end.
    """

    schemaVersion: str = SCHEMA_VERSION
    started: datetime
    finished: datetime
    verdict: Problem
    moves: tuple[MoveResult, ...]
    calibration: Calibration | None = None
    plan: Plan

    @property
    def enforced(self) -> list[MoveResult]:
        """The results of the moves that were to be made: all but those of Audit policies."""
        planned = zip(self.plan.moves, self.moves, strict=True)
        return [result for move, result in planned if move.mode == "Enforce"]


Report = Plan | Outcome
"""What a run ends with."""


def plan_in(report: Report) -> Plan:
    """The plan itself, or the one that the outcome is of."""
    return report.plan if isinstance(report, Outcome) else report

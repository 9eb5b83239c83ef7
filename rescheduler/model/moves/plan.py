"""The plan and the outcome, as they are written to JSON and read back.

The field names are the file format that other tools rely on; `schemaVersion` changes when one of
them changes its meaning. Nothing here is written in place: acting leaves the plan as it was
reviewed, and makes an outcome that holds it.

A move is known by the UID of its pod: in the plan, in the outcome, and in the ledger, where the
plan's id stands beside it. A UID can be evicted once only, so none stands for two moves.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from rescheduler.model.field_doc import SchemaVersion, doc
from rescheduler.model.finding_count import FindingCount
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.assessment import Assessment
from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan_basis import (
    Calibration,
    CountedPods,
    ReadingResult,
    SchedulerResult,
)
from rescheduler.model.moves.restart_cost import RestartCost, StopRef
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.moves.selection import SelectionResult
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.model.moves.suggestion import Suggestion
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

    namespace: Annotated[str, doc("Namespace.")]
    name: Annotated[str, doc("Name.")]
    uid: Annotated[str, doc("UID; an eviction is sent with it, so that a namesake is safe.")]
    resourceVersion: Annotated[str, doc("Version of the pod when it was read.")] = ""


class OwnerRef(msgspec.Struct, frozen=True, kw_only=True):
    """The workload of a pod, and the controller that makes its replacement."""

    kind: Annotated[str, doc("Kind of the workload, such as Deployment.")]
    name: Annotated[str, doc("Name of the workload.")]
    uid: Annotated[str, doc("UID of the workload.")]
    controllerKind: Annotated[str, doc("Kind of the controller that makes the replacement.")] = ""
    controllerUid: Annotated[str, doc("UID of that controller.")] = ""


class LandingShare(msgspec.Struct, frozen=True, kw_only=True):
    """One node where the replacement may land."""

    node: Annotated[str, doc("Name of the node.")]
    probability: Annotated[float, doc("0 to 1.")]


class BudgetUse(msgspec.Struct, frozen=True, kw_only=True):
    """The PodDisruptionBudget that a move spends, and what was left when it was planned."""

    name: Annotated[str, doc("Name of the PodDisruptionBudget.")]
    allowed: Annotated[int, doc("Disruptions that it still allowed when the move was planned.")]


class PlannedMove(msgspec.Struct, frozen=True, kw_only=True):
    """One move of a plan."""

    pod: Annotated[PodRef, doc("The pod to evict.")]
    owner: Annotated[OwnerRef, doc("Its workload.")]
    source: Annotated[str, doc("The node that it leaves.")] = msgspec.field(name="node")
    landing: Annotated[list[LandingShare], doc("Where the scheduler will put the replacement.")]
    returns: Annotated[float, doc("Probability that it comes back to the node it leaves.")]
    unschedulable: Annotated[float, doc("Probability that no node is feasible.")]
    gain: Annotated[float, doc("Expected decrease of the weighted cost.")]
    disruption: Annotated[float, doc("What the move costs, in pods; 1.0 is an ordinary pod.")]
    batch: Annotated[int, doc("Number of the batch, from 1.")]
    mode: Annotated[Mode, doc("Audit: only Audit policies want it; it is never made.")] = "Enforce"
    reasons: Annotated[list[MoveReason], doc("Why the move is proposed.")] = []
    gains: Annotated[dict[str, float], doc("Unweighted gain by policy.")] = {}
    usage: Annotated[dict[str, float], doc("Load that moves, by reading.")] = {}
    hot: Annotated[
        dict[str, list[str]],
        doc("By policy, what is hot on its node, which later cycles relieve further: to `low`."),
    ] = {}
    budget: Annotated[BudgetUse | None, doc("The PodDisruptionBudget that it spends.")] = None
    crashLooping: Annotated[
        bool, doc("Whether the pod crash-loops: nothing that is Ready is taken.")
    ] = False
    restart: Annotated[
        RestartCost | None,
        doc("What starts again, as a part of the disruption; null where that is not known."),
    ] = None
    group: Annotated[
        str, doc("The gang that is moved as a whole with it, all or none; empty: it moves alone.")
    ] = ""
    stops: Annotated[
        StopRef | None,
        doc("The Workload of Kueue that stops and starts the group; null: it is evicted."),
    ] = None
    room: Annotated[
        str, doc("The gang that it makes room for, all moves with this room or none; empty: none.")
    ] = ""
    steered: Annotated[
        Steered | None,
        doc("How its replacement is steered, as `landing` has it; null: not at all."),
    ] = None
    unsteered: Annotated[
        list[LandingShare],
        doc("The landing of a steered move if it were not steered; empty otherwise."),
    ] = []
    after: Annotated[
        list[str], doc("UIDs of the pods that make room for it first; it stays if they do.")
    ] = []
    gangMinimum: Annotated[
        int | None, doc("How many Ready pods its gang must keep; null: it has none, or all move.")
    ] = None


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one planned move."""

    pod: Annotated[PodRef, doc("The pod that was to be evicted.")]
    result: Annotated[Result, doc("What became of the eviction.")]
    code: Annotated[str, doc("Reason code of the result.")]
    message: Annotated[str, doc("A sentence about the result.")]
    landing: Annotated[
        list[LandingShare],
        doc("Where the replacement was to land, predicted right before the eviction."),
    ]
    returns: Annotated[
        float, doc("Probability, as predicted then, that it comes back to the node it leaves.")
    ]
    unschedulable: Annotated[
        float, doc("Probability, as predicted then, that no node is feasible.")
    ]
    landedOn: Annotated[str | None, doc("Node of the replacement, where one was seen.")] = None
    predicted: Annotated[
        float | None, doc("Probability of that node when the eviction was sent.")
    ] = None
    readySeconds: Annotated[
        float | None, doc("From the eviction until the replacement was Ready.")
    ] = None

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

    pod: Annotated[PodRef, doc("The pod.")]
    code: Annotated[str, doc("Reason code.")]
    message: Annotated[str, doc("A sentence with the values.")]
    owner: Annotated[OwnerRef | None, doc("Its workload, or null for a bare pod.")] = None
    node: Annotated[str, doc("The node that it stays on.")] = ""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A policy's cost before and after the plan (or as predicted, in an outcome)."""

    before: Annotated[float, doc("Cost of the placement as it was found.")]
    after: Annotated[float, doc("Cost as the plan expects it.")]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A number before and after the plan; None is not known."""

    before: Annotated[float | None, doc("The value before the plan; null is not known.")]
    after: Annotated[float | None, doc("The value after the plan; null is not known.")]


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as reports show it."""

    code: Annotated[str, doc("Reason code.")]
    subject: Annotated[str, doc("What it is about.")]
    cost: Annotated[float, doc("Its share of the policy's cost.")]
    message: Annotated[str, doc("A sentence with the numbers.")]


class GainsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the moves for a policy's sake have brought, in its unweighted cost."""

    promised: Annotated[
        float, doc("Unweighted gain that the measured moves promise under the load of then.")
    ]
    measured: Annotated[float, doc("Unweighted gain that they have brought.")]
    moves: Annotated[
        int, doc("How many moves that is, at most the latest 100; none that it was demoted for.")
    ]
    demotedAt: Annotated[datetime | None, doc("Since when it counts as Audit for it.")] = None
    demotedUntil: Annotated[
        datetime | None, doc("Until when it counts as Audit for it, or null.")
    ] = None
    problem: Annotated[
        Problem | None,
        doc("MSR001 while it is demoted, MSR002 if its moves bring too little, or null."),
    ] = None


class MeasuredMove(msgspec.Struct, frozen=True, kw_only=True):
    """What one earlier move has brought, by policy, in its unweighted cost."""

    pod: Annotated[PodRef, doc("The pod that was evicted.")]
    plan: Annotated[str, doc("Id of the plan that it was a move of.")]
    node: Annotated[str, doc("The node that it left.")]
    landedOn: Annotated[str | None, doc("Node of the replacement; null where none was seen.")]
    evicted: Annotated[datetime, doc("When it was evicted.")]
    at: Annotated[datetime, doc("When it was measured, or given up.")]
    predicted: Annotated[
        dict[str, float], doc("Unweighted gain by policy, as predicted when it was planned.")
    ] = {}
    promised: Annotated[dict[str, float], doc("The same under the load when it was measured.")] = {}
    measured: Annotated[
        dict[str, float], doc("Unweighted gain by policy that it has brought.")
    ] = {}
    neutral: Annotated[
        list[str], doc("Policies for which it does not count, as its cause has gone by itself.")
    ] = []
    problem: Annotated[Problem | None, doc("Why it was not measured, or null.")] = None


class PolicyResult(msgspec.Struct, frozen=True, kw_only=True):
    """One policy's result for the placement."""

    name: Annotated[str, doc("metadata.name of the policy.")]
    kind: Annotated[str, doc("Kind of the policy.")]
    mode: Annotated[Mode, doc("Audit: evaluated and shown, never acted on.")]
    weight: Annotated[float, doc("What one unit of its cost counts.")]
    cost: Annotated[Cost, doc("Unweighted cost; 27.8 is about 28 pods in the worst place.")]
    scope: Annotated[int, doc("How many pods or nodes it evaluates.")] = 0
    subject: Annotated[Subject, doc("Whether it evaluates pods or nodes.")] = "pods"
    worst: Annotated[
        float, doc("The highest cost that it could have here: what a score of 0 means.")
    ] = 0.0
    immovable: Annotated[
        float, doc("Beside its cost: what no move may mend; the score counts it too.")
    ] = 0.0
    assessment: Annotated[
        Assessment | None, doc("What it says of the placement; null in plans of earlier versions.")
    ] = None
    digest: Annotated[str, doc("SHA-256 of the policy's document.")] = ""
    source: Annotated[str, doc("The file that it was read from.")] = ""
    findings: Annotated[list[FindingView], doc("Why the cost before the plan is what it is.")] = []
    problem: Annotated[
        Problem | None,
        doc("Why it was not evaluated, so that its costs are 0 and mean nothing; or null."),
    ] = None
    brought: Annotated[
        GainsResult | None,
        doc("What the moves for its sake have brought, or null where none was measured."),
    ] = None
    selection: Annotated[
        SelectionResult | None, doc("How many pods it matches and nodes it selects.")
    ] = None
    idle: Annotated[list[IdleHolder], doc("Who has GPUs and hardly uses them.")] = []
    counts: Annotated[
        list[FindingCount], doc("What it finds that can be counted, such as hot GPUs.")
    ] = []
    room: Annotated[
        list[GangRoom], doc("The gangs that wait, where the policy makes room for them.")
    ] = []
    document: Annotated[
        dict[str, Any], doc("The whole policy document, from which `apply` makes the policy again.")
    ] = {}

    @property
    def silent(self) -> bool:
        """Whether it judges nothing of what it selects, or not all of it."""
        return self.assessment is not None and self.assessment.state == "NotJudged"

    def demoted_since(self) -> list[datetime]:
        """Since when it counts as Audit, for each reason that it does for."""
        whys = (self.brought, self.selection)
        return [
            result.demotedAt
            for result in whys
            if result is not None and result.demotedAt is not None
        ]


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node before and after: pods, and its load by reading name (0 to 1)."""

    name: Annotated[str, doc("Name of the node.")]
    zone: Annotated[str, doc("Its zone; empty where it has none.")]
    pods: Annotated[Change, doc("Pods on it.")]
    load: Annotated[dict[str, Change], doc("Load by reading, 0 to 1 of the node.")] = {}


class ClusterRef(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that the plan is for."""

    uid: Annotated[str, doc("UID of the namespace kube-system, which identifies a cluster.")]
    version: Annotated[str, doc("Version of the API server.")] = ""
    name: Annotated[str, doc("What people call the cluster.")] = ""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The size of what was evaluated."""

    nodes: Annotated[int, doc("Nodes in the snapshot.")]
    pods: Annotated[int, doc("Pods in the snapshot.")]
    candidates: Annotated[int, doc("Pods whose move could lower a cost.")]
    moves: Annotated[int, doc("Moves in the plan.")]
    disruption: Annotated[float, doc("Disruption of all moves together, in pods.")]
    refused: Annotated[
        dict[str, int], doc("All candidates left alone, counted by reason code.")
    ] = {}
    unsteered: Annotated[
        dict[str, int],
        doc('Moves that steering leaves out, by reason code; "": it would gain nothing.'),
    ] = {}


class Plan(msgspec.Struct, frozen=True, kw_only=True, tag="Plan", tag_field="kind"):
    """All that is needed to review what is proposed, to apply it, and to explain it afterwards.

    Two runs on the same snapshot, policies and seed have the same digest, whatever the mode; where
    a search ended early, with the same last plan too.
    """

    schemaVersion: SchemaVersion = SCHEMA_VERSION
    id: Annotated[str, doc("The first characters of the digest, for people.")] = ""
    digest: Annotated[
        str, doc("SHA-256 over all that decides: cluster, times, policies, limits and moves.")
    ] = ""
    tool: Annotated[str, doc("Name and version of the program that wrote the file.")] = ""
    mode: Annotated[
        Mode, doc("Audit: nothing is evicted by this run. Enforce: moves may be made.")
    ] = "Audit"
    cluster: Annotated[ClusterRef, doc("The cluster that the plan is for.")]
    created: Annotated[datetime, doc("When the plan was made.")]
    expires: Annotated[datetime, doc("Until when it may be applied.")]
    taken: Annotated[datetime, doc("When the cluster was read.")]
    recorded: Annotated[bool, doc("Whether it was made from a recorded snapshot.")] = False
    seed: Annotated[int, doc("Seed of the search; the same seed gives the same plan.")] = 0
    totals: Annotated[Totals, doc("How much was evaluated.")]
    score: Annotated[
        Change,
        doc(
            "0 to 100, of what policies with a weight judge; 100: no policy has a complaint; null: "
            "one could not be evaluated, or none judges anything."
        ),
    ] = msgspec.field(default_factory=lambda: Change(before=None, after=None))
    assessment: Annotated[
        Assessment | None,
        doc("What all policies with a weight say together; null in plans of earlier versions."),
    ] = None
    policies: Annotated[list[PolicyResult], doc("What each policy says of the placement.")]
    counts: Annotated[
        list[FindingCount], doc("What all policies find that can be counted; what two find is one.")
    ] = []
    readings: Annotated[list[ReadingResult], doc("How good each reading was.")]
    schedulers: Annotated[
        list[SchedulerResult],
        doc("The schedulers whose decisions are predicted, and how each is configured."),
    ] = []
    guards: Annotated[
        list[Problem], doc("What holds the whole cycle; then there are no moves.")
    ] = []
    moves: Annotated[list[PlannedMove], doc("The moves, in the order in which they are made.")]
    refused: Annotated[
        list[Refusal], doc("Candidates that are left alone; perhaps only some of each code.")
    ]
    nodes: Annotated[list[NodeView], doc("Each node before and after.")] = []
    limits: Annotated[
        dict[str, Any], doc("The `spec` of the Limits document in force, every field written out.")
    ] = {}
    ownReadings: Annotated[
        list[dict[str, Any]], doc("The documents of kind Readings that it was made with.")
    ] = []
    notes: Annotated[
        list[Problem], doc("About the data itself: what could not be decoded or read.")
    ] = []
    calibration: Annotated[
        Calibration | None, doc("How landings compared with predictions so far, or null.")
    ] = None
    measuredMoves: Annotated[
        list[MeasuredMove], doc("What earlier moves have brought, the latest first; at most 100.")
    ] = []
    search: Annotated[
        SearchSummary | None, doc("How the moves were searched for; null where a guard holds.")
    ] = None
    countedPods: Annotated[
        list[CountedPods],
        doc("Pods that percentages in the Limits are of: of all, and where anything was moved."),
    ] = []
    suggestions: Annotated[
        list[Suggestion],
        doc("The changes that would help most, at most three, what brings most first."),
    ] = []


class Outcome(msgspec.Struct, frozen=True, kw_only=True, tag="Outcome", tag_field="kind"):
    """What became of a plan that was acted on."""

    schemaVersion: SchemaVersion = SCHEMA_VERSION
    started: Annotated[datetime, doc("When acting began.")]
    finished: Annotated[datetime, doc("When acting ended.")]
    verdict: Annotated[Problem, doc("How acting ended.")]
    moves: Annotated[
        tuple[MoveResult, ...],
        doc("What became of each move of the plan, in the order of the plan's moves."),
    ]
    calibration: Annotated[
        Calibration | None, doc("How landings compared with predictions at the end, or null.")
    ] = None
    plan: Annotated[Plan, doc("The plan that was acted on, as it was made.")]

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

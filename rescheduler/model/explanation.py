"""What `explain` reports about a pod, a node or Pending pods, as it is written to JSON."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from rescheduler.model.field_doc import SchemaVersion, doc
from rescheduler.model.moves.plan import (
    ClusterRef,
    FindingView,
    LandingShare,
    Mode,
    OwnerRef,
    PodRef,
)
from rescheduler.model.moves.suggestion import Suggestion
from rescheduler.model.problem import Problem

SCHEMA_VERSION = "1"

CheckResult = Literal["passed", "failed", "not checked"]
PodOutcome = Literal["moves", "stays", "held", "unknown"]


class Check(msgspec.Struct, kw_only=True):
    """One check that a pod must pass before it may move, by its reason code."""

    code: Annotated[str, doc("Reason code of a pod that fails the check.")]
    result: Annotated[
        CheckResult,
        doc("passed or failed; not checked where an earlier check of its group failed."),
    ]
    message: Annotated[str, doc("Why it failed.")] = ""


class FilterResult(msgspec.Struct, kw_only=True):
    """What one plugin rejects, and the scheduler's words about those that it rejects first."""

    plugin: Annotated[str, doc("Name of the plugin.")]
    rejects: Annotated[int, doc("Nodes that it rejects when run alone.")]
    first: Annotated[int, doc("Nodes that it rejects and none before it.")]
    example: Annotated[str, doc("One of them.")] = ""
    reasons: Annotated[
        dict[str, int], doc("The scheduler's reasons, each with the number of nodes.")
    ] = {}


class NodeScore(msgspec.Struct, kw_only=True):
    """The weighted points of one feasible node by plugin."""

    node: Annotated[str, doc("Name of the node.")]
    total: Annotated[int, doc("Sum of the points.")]
    points: Annotated[dict[str, int], doc("Points by plugin: 0 to 100 times its weight.")]
    probability: Annotated[float, doc("Probability that the pod lands there.")]


class PolicyView(msgspec.Struct, kw_only=True):
    """A policy's result for one pod or node."""

    name: Annotated[str, doc("metadata.name of the policy.")]
    kind: Annotated[str, doc("Its kind.")]
    mode: Annotated[Mode, doc("Audit: evaluated and shown, never acted on.")]
    weight: Annotated[float, doc("What one unit of its cost counts.")]
    gain: Annotated[
        float | None,
        doc("Expected decrease of its cost by a move now; null where that is not known."),
    ] = None
    findings: Annotated[list[FindingView], doc("Its costliest findings about it.")] = []
    problem: Annotated[Problem | None, doc("Why the policy was not evaluated, or null.")] = None


class Verdict(msgspec.Struct, kw_only=True):
    """What becomes of a pod, and why."""

    outcome: Annotated[
        PodOutcome, doc("moves, stays, held by a guard, or unknown where no policies were given.")
    ]
    code: Annotated[str, doc("Reason code; empty where there is none.")] = ""
    message: Annotated[str, doc("A sentence with the values.")] = ""
    batch: Annotated[int | None, doc("Number of the batch that it moves in, or null.")] = None
    mode: Annotated[Mode | None, doc("Audit: shown only. Null where it does not move.")] = None
    gain: Annotated[float | None, doc("Expected decrease of the weighted cost, or null.")] = None
    disruption: Annotated[
        float | None, doc("What the move costs, in pods; null where it is not known.")
    ] = None


class Header(msgspec.Struct, kw_only=True):
    """Where and when the explanation was made."""

    tool: Annotated[str, doc("Name and version of the program.")] = ""
    cluster: Annotated[ClusterRef, doc("The cluster.")]
    taken: Annotated[datetime, doc("When the cluster was read.")]
    recorded: Annotated[bool, doc("Whether it is a recorded snapshot.")] = False


class GangView(msgspec.Struct, kw_only=True):
    """The gang of a pod."""

    name: Annotated[str, doc("Its namespace and name.")]
    mark: Annotated[str, doc("The label, annotation or field that makes the pod a member.")]
    minimum: Annotated[int | None, doc("How many of its pods must run; null: all of them.")]
    members: Annotated[int, doc("How many pods it has now, also Pending ones.")]
    ready: Annotated[int, doc("How many of them are Ready, and not being deleted or evicted.")]
    kueue: Annotated[bool, doc("Whether Kueue starts and stops it.")] = False


class PodExplanation(msgspec.Struct, kw_only=True):
    """Where a pod would land if it were evicted now, and why it moves or stays."""

    kind: Annotated[Literal["PodExplanation"], doc("What is explained.")] = "PodExplanation"
    schemaVersion: SchemaVersion = SCHEMA_VERSION
    header: Annotated[Header, doc("Which cluster, and when it was read.")]
    pod: Annotated[PodRef, doc("The pod.")]
    owner: Annotated[OwnerRef | None, doc("Its workload, or null for a bare pod.")]
    node: Annotated[str, doc("Its node; empty while it is Pending.")]
    phase: Annotated[str, doc("Its phase.")]
    scheduler: Annotated[str, doc("The scheduler that places it.")]
    verdict: Annotated[Verdict, doc("What a plan made now does with it.")]
    eligibility: Annotated[list[Check], doc("Every check that must pass before it may move.")]
    filters: Annotated[
        list[FilterResult], doc("What each plugin rejects, in the order in which they run.")
    ]
    scores: Annotated[
        list[NodeScore], doc("The best nodes by plugin, and its own where that is feasible.")
    ]
    landing: Annotated[
        list[LandingShare],
        doc("Where the scheduler would put it, the likeliest first; empty where nowhere."),
    ]
    returns: Annotated[float, doc("Probability that it comes back to the node it leaves.")]
    unschedulable: Annotated[float, doc("Probability that no node is feasible.")]
    feasible: Annotated[int, doc("How many nodes pass all filters.")]
    nodes: Annotated[int, doc("How many nodes there are.")]
    state: Annotated[
        Literal["overlap", "gone"],
        doc("overlap: scheduled while the old pod holds its place; gone: after it."),
    ]
    event: Annotated[
        str, doc("What the scheduler's event would say; empty where a node is feasible.")
    ]
    refusal: Annotated[Problem | None, doc("Why none of this is known, or null.")]
    policies: Annotated[list[PolicyView], doc("What each policy says of it.")]
    gang: Annotated[GangView | None, doc("The gang that it is a member of, or null.")] = None
    suggestions: Annotated[
        list[Suggestion],
        doc("Where it stays: the changes that would help most, of the whole plan."),
    ] = []


class Load(msgspec.Struct, kw_only=True):
    """One reading of a node."""

    reading: Annotated[str, doc("Name in the catalogue of readings.")]
    value: Annotated[float | None, doc("The value; null where there is none.")]
    unit: Annotated[str, doc("Unit of the value; ratio is 0 to 1 of the node.")]
    ageSeconds: Annotated[float | None, doc("Its age; null where there is none.")]
    windowSeconds: Annotated[float, doc("Time that it is aggregated over.")]
    capacity: Annotated[
        float | None,
        doc("How much 1.0 is, in the unit of the pods' reading; null where not known."),
    ] = None
    problem: Annotated[Problem | None, doc("Why the reading as a whole is unfit, or null.")] = None


class Room(msgspec.Struct, kw_only=True):
    """What the pods of a node ask for of one resource."""

    resource: Annotated[str, doc("Name of the resource.")]
    requested: Annotated[float, doc("What its pods ask for: cpu in cores, memory in bytes.")]
    allocatable: Annotated[float, doc("What it has for pods.")]


class PodOnNode(msgspec.Struct, kw_only=True):
    """A pod of a node."""

    pod: Annotated[PodRef, doc("The pod.")]
    owner: Annotated[OwnerRef | None, doc("Its workload, or null for a bare pod.")]
    relief: Annotated[
        float, doc("Weighted cost that moving it could save at best, wherever it went.")
    ]
    disruption: Annotated[float, doc("What a move costs, in pods.")]
    usage: Annotated[dict[str, float], doc("What it uses, by reading.")]
    verdict: Annotated[Verdict, doc("What a plan made now does with it.")]


class NodeExplanation(msgspec.Struct, kw_only=True):
    """What a node carries, what policies find about it, and why each pod of it moves or stays."""

    kind: Annotated[Literal["NodeExplanation"], doc("What is explained.")] = "NodeExplanation"
    schemaVersion: SchemaVersion = SCHEMA_VERSION
    header: Annotated[Header, doc("Which cluster, and when it was read.")]
    node: Annotated[str, doc("Name of the node.")]
    zone: Annotated[str, doc("Its zone; empty where it has none.")]
    ready: Annotated[bool, doc("Whether it is Ready.")]
    taints: Annotated[list[str], doc("Its taints, as kubectl writes them.")]
    problem: Annotated[
        Problem | None, doc("Why pods are moved neither off it nor onto it, or null.")
    ]
    room: Annotated[list[Room], doc("What its pods ask for of each resource.")]
    loads: Annotated[list[Load], doc("Every reading of it.")]
    policies: Annotated[list[PolicyView], doc("What each policy finds about it.")]
    pods: Annotated[
        list[PodOnNode],
        doc("Its pods: those that move first, then by what moving them could save."),
    ]
    suggestions: Annotated[
        list[Suggestion],
        doc("Where pods stay: the changes that would help most, of the whole plan."),
    ] = []


class Reason(msgspec.Struct, kw_only=True):
    """One reason of the scheduler why nodes are not feasible."""

    reason: Annotated[str, doc("The scheduler's reason.")]
    plugin: Annotated[str, doc("The plugin that gives it.")]
    count: Annotated[int, doc("For how many nodes.")]
    nodes: Annotated[list[str], doc("Some of them.")]


class RoomMove(msgspec.Struct, kw_only=True):
    """One move after which a Pending pod fits."""

    pod: Annotated[PodRef, doc("The pod to move.")]
    owner: Annotated[OwnerRef | None, doc("Its workload.")]
    node: Annotated[str, doc("The node that it leaves.")]
    fits: Annotated[str, doc("Where the Pending pod fits afterwards.")]
    landing: Annotated[list[LandingShare], doc("Where its replacement would land.")]
    returns: Annotated[float, doc("Probability that it comes back.")]
    disruption: Annotated[float, doc("What the move costs, in pods.")]


class PendingPod(msgspec.Struct, kw_only=True):
    """A Pending pod, or several that the scheduler cannot distinguish."""

    pod: Annotated[PodRef, doc("The pod, the first by name of those alike.")]
    owner: Annotated[OwnerRef | None, doc("Its workload, or null for a bare pod.")]
    priority: Annotated[int, doc("Its priority.")]
    scheduler: Annotated[str, doc("The scheduler that places it.")]
    alike: Annotated[int, doc("How many Pending pods of its owner are like it.")]
    feasible: Annotated[int, doc("How many nodes pass all filters.")]
    nodes: Annotated[int, doc("How many nodes there are.")]
    event: Annotated[
        str, doc("What the scheduler's event would say; empty where a node is feasible.")
    ]
    reasons: Annotated[list[Reason], doc("Why nodes are rejected, the most frequent reason first.")]
    landing: Annotated[
        list[LandingShare],
        doc("Where the scheduler would put it, the likeliest first; empty where nowhere."),
    ]
    returns: Annotated[float, doc("Probability that it comes back to the node it leaves.")]
    unschedulable: Annotated[float, doc("Probability that no node is feasible.")]
    refusal: Annotated[Problem | None, doc("Why none of this is known, or null.")]
    moves: Annotated[
        list[RoomMove], doc("Single moves after which it fits, the least disruptive first.")
    ]
    tried: Annotated[int, doc("Moves that were tried.")]
    none: Annotated[Problem | None, doc("Why no single move makes room, or null.")] = None


class PendingExplanation(msgspec.Struct, kw_only=True):
    """Why Pending pods do not fit, and which single move would make room for each."""

    kind: Annotated[Literal["PendingExplanation"], doc("What is explained.")] = "PendingExplanation"
    schemaVersion: SchemaVersion = SCHEMA_VERSION
    header: Annotated[Header, doc("Which cluster, and when it was read.")]
    pods: Annotated[list[PendingPod], doc("Pending pods by priority; one for all that are alike.")]


Explanation = PodExplanation | NodeExplanation | PendingExplanation

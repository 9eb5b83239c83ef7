"""What `explain` reports about a pod, a node or Pending pods, as it is written to JSON."""

from datetime import datetime
from typing import Literal

import msgspec

from rescheduler.model.moves.plan import (
    ClusterRef,
    FindingView,
    LandingShare,
    Mode,
    OwnerRef,
    PodRef,
)
from rescheduler.model.problem import Problem

SCHEMA_VERSION = "1"

CheckResult = Literal["passed", "failed", "not checked"]
PodOutcome = Literal["moves", "stays", "held", "unknown"]


class Check(msgspec.Struct, kw_only=True):
    """One check that a pod must pass before it may move, by its reason code."""

    code: str
    result: CheckResult
    message: str = ""


class FilterResult(msgspec.Struct, kw_only=True):
    """What one plugin rejects, and the scheduler's words about those that it rejects first."""

    plugin: str
    rejects: int
    first: int
    example: str = ""
    reasons: dict[str, int] = {}


class NodeScore(msgspec.Struct, kw_only=True):
    """The weighted points of one feasible node by plugin."""

    node: str
    total: int
    points: dict[str, int]
    probability: float


class PolicyView(msgspec.Struct, kw_only=True):
    """A policy's result for one pod or node. gain: expected, unweighted; None if not evaluated."""

    name: str
    kind: str
    mode: Mode
    weight: float
    gain: float | None = None
    findings: list[FindingView] = []
    problem: Problem | None = None


class Verdict(msgspec.Struct, kw_only=True):
    """What becomes of a pod, and why."""

    fate: PodOutcome
    code: str = ""
    message: str = ""
    batch: int | None = None
    mode: Mode | None = None
    gain: float | None = None
    disruption: float | None = None


class Header(msgspec.Struct, kw_only=True):
    """Where and when the explanation was made."""

    tool: str = ""
    cluster: ClusterRef
    taken: datetime
    recorded: bool = False


class GangView(msgspec.Struct, kw_only=True):
    """The gang of a pod. minimum: how many of its pods must run; null: all of them."""

    name: str
    mark: str
    minimum: int | None
    members: int
    ready: int
    kueue: bool = False


class PodExplanation(msgspec.Struct, kw_only=True):
    """Where a pod would land if it were evicted now, and why it moves or stays."""

    kind: Literal["PodExplanation"] = "PodExplanation"
    schemaVersion: str = SCHEMA_VERSION
    header: Header
    pod: PodRef
    owner: OwnerRef | None
    node: str
    phase: str
    scheduler: str
    verdict: Verdict
    eligibility: list[Check]
    filters: list[FilterResult]
    scores: list[NodeScore]
    landing: list[LandingShare]
    returns: float
    unschedulable: float
    feasible: int
    nodes: int
    state: Literal["overlap", "gone"]
    event: str
    refusal: Problem | None
    policies: list[PolicyView]
    gang: GangView | None = None


class Load(msgspec.Struct, kw_only=True):
    """One reading of a node. value: null where there is none."""

    reading: str
    value: float | None
    unit: str
    ageSeconds: float | None
    windowSeconds: float
    capacity: float | None = None
    problem: Problem | None = None


class Room(msgspec.Struct, kw_only=True):
    """What the pods of a node ask for of one resource, in the resource's own unit."""

    resource: str
    requested: float
    allocatable: float


class PodOnNode(msgspec.Struct, kw_only=True):
    """A pod of a node. relief: weighted cost that moving it could save; usage: by reading."""

    pod: PodRef
    owner: OwnerRef | None
    relief: float
    disruption: float
    usage: dict[str, float]
    verdict: Verdict


class NodeExplanation(msgspec.Struct, kw_only=True):
    """What a node carries, what policies find about it, and why each pod of it moves or stays."""

    kind: Literal["NodeExplanation"] = "NodeExplanation"
    schemaVersion: str = SCHEMA_VERSION
    header: Header
    node: str
    zone: str
    ready: bool
    taints: list[str]
    problem: Problem | None
    room: list[Room]
    loads: list[Load]
    policies: list[PolicyView]
    pods: list[PodOnNode]


class Reason(msgspec.Struct, kw_only=True):
    """One reason of the scheduler, and some of the nodes that it rejects for it."""

    reason: str
    plugin: str
    count: int
    nodes: list[str]


class RoomMove(msgspec.Struct, kw_only=True):
    """One move after which a Pending pod fits. node: that it leaves; fits: where there is room."""

    pod: PodRef
    owner: OwnerRef | None
    node: str
    fits: str
    landing: list[LandingShare]
    returns: float
    disruption: float


class PendingPod(msgspec.Struct, kw_only=True):
    """A Pending pod, or several that the scheduler cannot distinguish."""

    pod: PodRef
    owner: OwnerRef | None
    priority: int
    scheduler: str
    alike: int
    feasible: int
    nodes: int
    event: str
    reasons: list[Reason]
    landing: list[LandingShare]
    returns: float
    unschedulable: float
    refusal: Problem | None
    moves: list[RoomMove]
    tried: int
    none: Problem | None = None


class PendingExplanation(msgspec.Struct, kw_only=True):
    """Why Pending pods do not fit, and which single move would make room for each."""

    kind: Literal["PendingExplanation"] = "PendingExplanation"
    schemaVersion: str = SCHEMA_VERSION
    header: Header
    pods: list[PendingPod]


Explanation = PodExplanation | NodeExplanation | PendingExplanation

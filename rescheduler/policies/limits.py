"""Limits: the budgets that hold beside every PodDisruptionBudget, and even where there is none."""

from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from rescheduler.documents.amounts import Amount
from rescheduler.documents.field_problems import FieldWarning
from rescheduler.documents.fields import Duration, PositiveDuration, Ratio, duration_text
from rescheduler.documents.label_names import LabelKey, NamespacePattern, OwnerKind
from rescheduler.kube.controllers import qualified_kind
from rescheduler.kube.nodes.node_marks import AVOIDED, LEAVING, NodeMarks
from rescheduler.kube.objects import OwnerReference
from rescheduler.model.moves.calibration import MOST_WORKLOADS
from rescheduler.model.moves.gains import MOST_PAIRS
from rescheduler.model.moves.retention import kept_for, room_per_day
from rescheduler.policies.base import Policy
from rescheduler.policies.marks import AvoidedNode, OptOut, drop_ignored
from rescheduler.policies.move_limit_fields import CYCLE, DAY, HOUR, MoveLimit, MoveLimitFields
from rescheduler.policies.move_scopes import Overall, PerNamespace, PerNode, PerWorkload
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.steering.means_registry import TAINTING

ALWAYS_PROTECTED = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that are never touched: Kubernetes' own."""


def _form(value: Any) -> str:
    """So that problems are reported for the form that was meant; brackets keep it out of paths."""
    return "[list]" if isinstance(value, list) else "[word]"


OwnerKinds = Annotated[list[OwnerKind], Field(min_length=1), Tag("[list]")]
OtherOwners = Annotated[
    Annotated[Literal["Refuse", "Allow"], Tag("[word]")] | OwnerKinds, Discriminator(_form)
]


class Limits(MoveLimitFields):
    """How much may move, how often, and what a move must gain. At most one per set of policies.

    Numbers of moves may be percentages of the pods that are Running at that moment. Bare pods, pods
    that are being deleted, and pods of DaemonSets and of nodes do not count. Percentages are
    rounded down: 10% of 9 pods is none.
    """

    codes: ClassVar[tuple[str, ...]] = ("PAC",)

    kind: Literal["Limits"] = "Limits"
    name: str = Field("default", min_length=1, description="metadata.name")
    movesPerCycle: Annotated[Amount, MoveLimit(Overall(), CYCLE, "PAC001")] = 5
    movesPerNode: Annotated[Amount, MoveLimit(PerNode(), CYCLE, "PAC002")] = 1
    movesPerNamespace: Annotated[Amount, MoveLimit(PerNamespace(), CYCLE, "PAC003")] = 2
    movesPerWorkload: Annotated[Amount, MoveLimit(PerWorkload(), CYCLE, "PAC004")] = 1
    movesPerHour: Annotated[Amount, MoveLimit(Overall(), HOUR, "PAC005")] = 10
    movesPerDay: Annotated[Amount, MoveLimit(Overall(), DAY, "PAC006")] = 50
    cyclePeriod: PositiveDuration = Field(
        timedelta(minutes=5),
        description="Moves of so long ago count as of this cycle, whichever run made them, so that "
        "a restart does not begin with fresh budgets. Where it is not written, it is 0.9 of "
        "`--every`, a minute at least. For a CronJob or `--cron` it is 0.9 of the usual interval "
        "between cycles that moved pods lately, and never less than this. At most an hour.",
    )
    inFlightPerWorkload: int = Field(
        1, ge=1, description="Replacements of one workload that may be pending at a time."
    )
    batchSize: int = Field(
        1,
        ge=1,
        description="Pods evicted before the run waits for their replacements; never two of one "
        "workload, of one PodDisruptionBudget, or that are likely to pull the same image.",
    )
    coolDown: Duration = Field(
        timedelta(minutes=30),
        description="Quiet time of a workload after a move. It doubles with each move that went "
        "wrong: the replacement came back, was not Ready in time or much later than usual, "
        "crash-loops, or was taken away by others within a day. A workload rests for `coolDownCap` "
        "where two replacements, and half of them or more, landed where that was not predicted, on "
        "nodes that were there by then. "
        "Nodes where arrivals go wrong again and again rest as long (ELG025).",
    )
    coolDownCap: Duration = Field(timedelta(hours=24), description="The longest quiet time.")
    margin: float = Field(
        0.05, ge=0, description="Expected gain (in weighted cost) that a move must exceed."
    )
    gainShare: float = Field(
        0.5,
        ge=0,
        description="A move must be worth its restart: 0.5 accepts moves down to half the average "
        "gain per disruption. Of a swap or chain the average of its moves counts.",
    )
    minPodAge: Duration = Field(timedelta(minutes=10), description="Younger pods are left alone.")
    minReadyTime: Duration = Field(timedelta(seconds=60), description="Ready at least this long.")
    minNodeAge: Duration = Field(
        timedelta(minutes=10), description="Younger nodes are neither left nor counted on."
    )
    avoidNodes: list[AvoidedNode] = Field(
        default_factory=list,
        description="Nodes that no replacement is sent to, by a taint, condition, label or "
        "annotation of theirs such as `- condition: DiskSlow`, besides those with one of the known "
        "[marks of nodes](#marks-of-nodes). `leaving: true` says that such a node is being taken "
        "away: no pod is moved off it either. `ignore: true` takes out one of the known marks.",
    )
    minReplicas: int = Field(2, ge=1, description="Workloads with fewer Ready pods are left alone.")
    localStorage: Literal["Refuse", "Allow"] = Field(
        "Refuse",
        description="Pods with emptyDir, hostPath or ephemeral volumes, or with a claim "
        "bound to a PersistentVolume of type hostPath. An emptyDir or hostPath that admission "
        "adds to what the owner's template has, as for the proxy of a service mesh, does not "
        "count.",
    )
    jobs: Literal["Refuse", "Allow"] = Field(
        "Refuse",
        description="Job pods whose policy does not ignore disruption. A container that ends with "
        "exit code 0 on SIGTERM has succeeded for its Job, whatever the policy says, and is not "
        "run again: nothing shows that beforehand, so let such pods opt out.",
    )
    gangs: Literal["Spare", "Surplus", "Whole"] = Field(
        "Spare",
        description="Pods that run together or not at all: members of a PodGroup (of Kubernetes, "
        "coscheduling, Volcano or KAI Scheduler) or of a Workload of Kubernetes 1.35, of a "
        "LeaderWorkerSet, JobSet, MPIJob, RayCluster or the like, and of an Indexed Job that "
        "needs all its pods at once. Spare: they are never moved. Surplus: Ready members above "
        "the gang's minimum (minMember, minCount) are moved like other pods; a gang whose "
        "minimum is not known needs all its pods. Whole: besides, a complete gang may be moved "
        "as one group, all its pods in one batch or none; each of them counts for the cycle, "
        "the hour, node, namespace and PodDisruptionBudget, and all of them as one for "
        "movesPerWorkload and inFlightPerWorkload. A PodGroup of Kubernetes itself is not moved"
        " as a whole. A gang that Kueue starts and stops is moved only where `kueue` lets it. "
        "Pods that MPIJob, RayCluster or a Job of Volcano make themselves are never moved: what"
        " replaces them cannot be followed.",
    )
    kueue: Literal["Leave", "Restart"] = Field(
        "Leave",
        description="Gangs that Kueue starts and stops. Leave: they are never moved. Restart, with "
        "`gangs: Whole`: the Workload of a Job or JobSet is deleted, so that Kueue suspends it, "
        "waits until all its pods are gone, and queues it again with the same quota; never where "
        "another Workload waits in its ClusterQueue or cohort (ELG034), or where its ClusterQueue "
        "might not admit it again on the same nodes (ELG035); plain pods, elastic Workloads and "
        "those placed by topology are left alone (ELG029). Needs the component kueue-restart.",
    )
    crashLooping: Literal["Refuse", "Allow"] = Field(
        "Refuse",
        description="Pods that are not Ready because a container of theirs waits to be started "
        "again. Allow: they may be moved, also where their workload has fewer Ready pods than "
        "it wants or than `minReplicas`, as none of those is taken; but not where another "
        "pod of it crash-loops on another node, or one that was moved for the like within "
        "the last day does not run without restarts (ELG023).",
    )
    otherOwners: OtherOwners = Field(
        "Refuse",
        description="Pods of controllers that are run by an object of a kind that is not read, "
        "such as an operator's custom resource or a Rollout: whether it has opted out or is being "
        "deleted is not known. Deployments, CronJobs, JobSets and LeaderWorkerSets are read. "
        "Refuse: such pods are left alone (ELG036), and each plan says how many there are of each "
        "kind. Allow, or a list of kinds with their API groups such as `[Rollout.argoproj.io]`: "
        "such pods may be moved; to leave them alone annotate them, their controller or "
        "their namespace. Of its rollout only that is seen that pods of two ReplicaSets are there, "
        "of its scaling its HorizontalPodAutoscaler (ELG013). Jobs that anything but a CronJob or "
        "JobSet runs are never moved.",
    )
    protectedNamespaces: list[NamespacePattern] = Field(
        default_factory=list,
        description="Namespaces that are never touched, beside kube-system, kube-public and "
        "kube-node-lease, which never are. A name that ends in `*`, such as `openshift-*`, is for "
        "all that begin so.",
    )
    tenantLabel: LabelKey | None = Field(
        None,
        description="A label of Namespaces that says whose they are, such as "
        "`capsule.clastix.io/tenant` or `field.cattle.io/projectId`. Namespaces with one value of "
        "it count as one tenant; without it, or where it is empty, each counts for itself. A "
        "tenant takes at most its share of `movesPerCycle`, `movesPerHour` and `movesPerDay` while "
        "others have moves worth making (BUD005), and what goes wrong in several namespaces of one "
        "tenant holds nobody else (GRD003), and in three or more all of that tenant (ELG038). Let "
        "only administrators write this label.",
    )
    optOuts: list[OptOut] = Field(
        default_factory=list,
        description="Labels and annotations of your own that ask to leave a pod alone, such as "
        "`- label: tier=gold`; on the pod, its owners or its namespace. Besides the annotation "
        "rescheduler.io/opt-out, those of cluster-autoscaler, Karpenter and descheduler count, the "
        "marks of Cast AI and Spot Ocean, and marks of a pod whose names say so, such as "
        '`acme.test/do-not-evict: "true"` or `acme.test/evictable: "false"`.',
    )
    maxPriority: int = Field(
        1_999_999_999, description="Pods above this priority are left alone; critical ones always."
    )
    maxHotShare: Ratio = Field(
        0.2,
        description="If a greater share of the nodes is hot at once, nothing is evicted. Nodes "
        "that are only far above the mean (`strategy: Balance`) do not count.",
    )
    maxNotReadyShare: Ratio = Field(
        0.1,
        description="If a greater share of nodes (and over 3) is not Ready, nothing is evicted.",
    )
    steering: SteeringFields = Field(
        default_factory=SteeringFields,
        description="Whether replacements are steered; a policy may say it otherwise.",
    )
    taintedNodes: int = Field(
        8,
        ge=0,
        le=32,
        description=f"Nodes that `steering` by {TAINTING} may taint at a time: those of one move.",
    )
    planExpiry: Duration = Field(
        timedelta(minutes=30), description="How long a plan may be applied."
    )
    readyTimeout: Duration = Field(
        timedelta(minutes=5), description="How long a batch waits for its replacements."
    )
    maxReturn: Ratio = Field(
        0.5,
        description="A pod more likely than this to come back to its node is left alone. Up to it "
        "the chance is taken, and the gain of such a move is counted for the share that goes "
        "elsewhere. 0: only pods that cannot come back are moved. A plan takes earlier moves where "
        "they most likely land, and shows the chance over all their landings; it is "
        "computed again right before the eviction.",
    )
    maxUnschedulable: Ratio = Field(
        0.0, description="A pod more likely than this to stay Pending is left alone."
    )
    minLandingHitRate: Ratio = Field(
        0.8,
        description="If a smaller share of the workloads with one kind of pods landed where that "
        "was predicted, such pods stay: in the namespace where it is so, and everywhere where it "
        "is so without the namespace that missed most.",
    )
    minLandingSample: int = Field(
        20,
        ge=1,
        le=MOST_WORKLOADS,
        description="Workloads whose landings were compared in the last 14 days before "
        "`minLandingHitRate` counts.",
    )
    minMeasuredShare: Ratio = Field(
        0.5,
        description="If the moves for a policy's sake bring a smaller share of what it promised, "
        "by more than noise explains, the policy is demoted: it counts as Audit for 24 hours, and "
        "twice as long each time, up to 14 days. What a move brings is measured once the windows "
        "of the policy's readings have passed, beside how the load of the other nodes that it "
        "selects has changed. With 0 only moves that did harm demote.",
    )
    minMeasuredSample: int = Field(
        10,
        ge=1,
        le=MOST_PAIRS,
        description="Measured moves of a policy before `minMeasuredShare` counts; a third of them "
        "after a demotion. Moves on the same nodes count as one, and at least four (or as many "
        "as this says, if fewer) must be of different nodes. The last so many are also judged by "
        "themselves, so that earlier success does not hide that a policy has stopped helping.",
    )

    auditFirst: Duration = Field(
        timedelta(hours=1),
        description="How long `run` only reports (as in Audit) for a policy that is new, that was "
        "edited (SEL001), or that suddenly matches far more (SEL002), since a selector or a label "
        "may be wrong. Edits of mode, weight, maxPriority and steering do not count. Far more is "
        "over 5 times as many pods or nodes as in the last one or two weeks, and over 50 pods or "
        "10 nodes. In the first run in Enforce all policies are new. A plan that people apply "
        "moves pods meanwhile. 0s: such a policy acts at once.",
    )

    def steering_of(self, policy: Policy) -> SteeringFields:
        """How the replacements of this policy's moves are steered."""
        return policy.steering or self.steering

    @model_validator(mode="after")
    def _cap_is_not_below(self) -> "Limits":
        if self.coolDownCap < self.coolDown:
            raise ValueError("coolDownCap must not be below coolDown")
        return self

    @model_validator(mode="after")
    def _kueue_moves_whole_gangs(self) -> "Limits":
        if self.kueue == "Restart" and self.gangs != "Whole":
            raise ValueError("kueue: Restart needs gangs: Whole, as Kueue stops whole gangs")
        return self

    def allows(self, owner: OwnerReference) -> bool:
        """Whether `otherOwners` lets pods move that are run by this owner, which is not read."""
        allowed = self.otherOwners
        return allowed == "Allow" or (
            isinstance(allowed, list) and qualified_kind(owner) in allowed
        )

    def protects(self, namespace: str) -> bool:
        """Whether the namespace is never touched."""
        return namespace in ALWAYS_PROTECTED or any(
            namespace == name or (name.endswith("*") and namespace.startswith(name[:-1]))
            for name in self.protectedNamespaces
        )

    @cached_property
    def leaving_marks(self) -> NodeMarks:
        """What says that a node is being taken away, so that it is neither left nor counted on."""
        own = [node.mark for node in self.avoidNodes if node.leaving]
        return NodeMarks([*drop_ignored(LEAVING, self.avoidNodes), *own])

    @cached_property
    def avoided_marks(self) -> NodeMarks:
        """What says that nothing should be sent to a node."""
        own = [node.mark for node in self.avoidNodes if not node.ignore]
        ignored = [node.mark for node in self.avoidNodes if node.ignore]
        return NodeMarks(
            [*drop_ignored(AVOIDED, self.avoidNodes), *own], by_name=True, ignored=ignored
        )

    @property
    def own_annotations(self) -> frozenset[str]:
        """The names of the annotations of nodes and pods that the operator's marks are about."""
        nodes = {node.mark.name for node in self.avoidNodes if node.annotation}
        return frozenset(nodes | {opt_out.key for opt_out in self.optOuts if opt_out.annotation})

    @model_validator(mode="after")
    def _state_has_room(self) -> "Limits":
        """Moves are kept as long as they decide something; so many must fit in the state."""
        daily = [amount for amount in (self.movesPerDay,) if isinstance(amount, int)]
        if isinstance(self.movesPerHour, int):
            daily.append(24 * self.movesPerHour)
        if not self.room_per_day:
            raise ValueError(
                f"the state has no room for moves that are kept for {duration_text(self.keep)}: "
                "lower coolDownCap, cyclePeriod"
            )
        if daily and min(daily) > self.room_per_day:
            raise ValueError(
                f"{min(daily)} moves in a day, each kept for {duration_text(self.keep)}, are more "
                f"than the state has room for: lower movesPerDay to {self.room_per_day}, or "
                "coolDownCap, which each move is kept for twice"
            )
        return self

    @cached_property
    def keep(self) -> timedelta:
        """How long a move may decide something, so long it is kept."""
        return kept_for(self.coolDownCap, self.cyclePeriod)

    @cached_property
    def room_per_day(self) -> int:
        """How many moves a day the durable state has room for."""
        return room_per_day(self.keep)

    def warnings(self) -> Iterator[FieldWarning]:
        """A cycle that plans more than an hour may do, or an hour more than a day."""
        for short, long in self.contradictions():
            less, more, span = self.amount(short), self.amount(long), short.within.name
            if short.field in self.model_fields_set:
                message = f"{less} is above {long.field} of {more}, so no {span} makes so many"
                yield FieldWarning((short.field,), message)
            else:
                message = f"{more} is below {short.field} of {less}, so no {span} makes so many"
                yield FieldWarning((long.field,), message)

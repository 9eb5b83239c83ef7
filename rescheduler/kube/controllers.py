"""The objects around pods: controllers, budgets, services, priority classes, namespaces."""

from datetime import datetime
from typing import Any

import msgspec

from rescheduler.kube.managed_fields import ControllerMeta, NamespaceMeta
from rescheduler.kube.objects import (
    Base,
    Condition,
    Labels,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    PodSpec,
)


class TemplateMeta(Base):
    """spec.template.metadata of a controller."""

    labels: Labels | None = None


class PodTemplate(Base):
    """spec.template of a controller: what its pods are made from, before admission."""

    metadata: TemplateMeta | None = None
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class ControllerSpec(Base):
    """spec of a ReplicaSet, Deployment, StatefulSet, ReplicationController, Job or DaemonSet.

    `selector` is a LabelSelector, but a plain map for a ReplicationController; it is kept raw.
    `template` is there for the kinds that make pods themselves.
    """

    replicas: int | None = None
    selector: dict[str, Any] | None = None
    paused: bool = False
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    completionMode: str | None = None
    podReplacementPolicy: str | None = None
    podFailurePolicy: dict[str, Any] | None = None
    minReadySeconds: int = 0
    updateStrategy: dict[str, Any] | None = None
    template: PodTemplate | None = None

    @property
    def partition(self) -> int:
        """From which ordinal on a StatefulSet rolls out its new template; 0 is all of them."""
        strategy = self.updateStrategy or {}
        if strategy.get("type") == "OnDelete":
            return 0
        return int((strategy.get("rollingUpdate") or {}).get("partition") or 0)


class ConditionWithMessage(Condition):
    """status.conditions[] with its writer's message."""

    message: str = ""


class ControllerStatus(Base):
    """status of a controller, with the union of the fields that the kinds have."""

    replicas: int = 0
    readyReplicas: int | None = 0
    updatedReplicas: int | None = 0
    availableReplicas: int | None = 0
    observedGeneration: int = 0
    currentRevision: str = ""
    updateRevision: str = ""
    active: int | None = 0
    ready: int | None = None
    succeeded: int | None = 0
    desiredNumberScheduled: int = 0
    numberReady: int = 0
    conditions: list[ConditionWithMessage] | None = None


READ_OWNERS = frozenset(
    {
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Job",
        "JobSet",
        "LeaderWorkerSet",
        "Pod",  # the leader of a group of a LeaderWorkerSet, which owns that of the workers
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
    }
)
"""The kinds that are read where they are above a pod: where such an owner is not there, it is gone,
or its version is one that we do not know."""


MOST_OWNERS = 16
"""Above one another: a Pod of a LeaderWorkerSet has five. What is beyond counts as not known."""


def qualified_kind(owner: OwnerReference) -> str:
    """Kind and API group, such as "Rollout.argoproj.io"; the kind alone in the core group."""
    group, slash, _ = owner.apiVersion.partition("/")
    return f"{owner.kind}.{group}" if slash else owner.kind


class Owner(Base):
    """What is above a pod: a controller, or an object above it; only its metadata is read.

    `kind` is filled in where it is listed.
    """

    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class Controller(Owner):
    """A workload object: what makes pods, or is above what does."""

    metadata: ControllerMeta = msgspec.field(default_factory=ControllerMeta)
    spec: ControllerSpec = msgspec.field(default_factory=ControllerSpec)
    status: ControllerStatus = msgspec.field(default_factory=ControllerStatus)

    @property
    def wanted(self) -> int:
        """How many pods it wants to have now: none of a Job that is suspended."""
        return 0 if self.suspended else self.resumed

    @property
    def suspended(self) -> bool:
        """Whether it is a Job that is suspended and has not ended."""
        return self.kind == "Job" and bool(self.spec.suspend) and not self._ended

    @property
    def resumed(self) -> int:
        """How many pods it wants to have where it is not suspended; a number not given is 1.

        Of a Job what is left to do, and none once it has ended.
        Source: pkg/controller/job/job_controller.go, manageJob.
        """
        spec, status = self.spec, self.status
        if self.kind == "DaemonSet":
            return status.desiredNumberScheduled
        if self.kind != "Job":
            return 1 if spec.replicas is None else spec.replicas
        if self._ended:
            return 0
        parallel = 1 if spec.parallelism is None else spec.parallelism
        succeeded = status.succeeded or 0
        if spec.completions is not None:
            return max(min(spec.completions - succeeded, parallel), 0)
        return (status.active or 0) if succeeded else parallel

    @property
    def _ended(self) -> bool:
        """Whether it is a Job that is Complete or Failed."""
        return any(
            condition.type in ("Complete", "Failed") and condition.status == "True"
            for condition in self.status.conditions or ()
        )


MOST_SELECTOR = 2048
"""Bytes of a selector as JSON: its pods are listed by it, and every move of them remembers it."""


def selector_size(controller: Controller) -> int:
    """Bytes of its selector as JSON, which are more than those of `selector_text`."""
    return len(msgspec.json.encode(controller.spec.selector or {}))


def selector_text(controller: Controller) -> str:
    """The selector of its pods as the API takes it in `labelSelector`.

    "" where it has none, or one of more than `MOST_SELECTOR`.

    Source: apimachinery pkg/labels/selector.go, Requirement.String. A ReplicationController has a
    plain map.
    """
    if selector_size(controller) > MOST_SELECTOR:
        return ""
    raw = controller.spec.selector or {}
    labelled = controller.kind != "ReplicationController"
    selector = msgspec.convert(raw if labelled else {"matchLabels": raw}, LabelSelector)
    parts = [f"{key}={value}" for key, value in (selector.matchLabels or {}).items()]
    for expression in selector.matchExpressions or ():
        if expression.operator in ("In", "NotIn"):
            values = ",".join(expression.values or ())
            parts.append(f"{expression.key} {expression.operator.lower()} ({values})")
        else:
            parts.append(
                expression.key if expression.operator == "Exists" else f"!{expression.key}"
            )
    return ",".join(parts)


MOST_DISRUPTED = 2000
"""Evictions that a budget's status may list before the API server refuses more."""


class BudgetSpec(Base):
    """spec of a PodDisruptionBudget."""

    selector: LabelSelector | None = None
    minAvailable: int | str | None = None
    maxUnavailable: int | str | None = None
    unhealthyPodEvictionPolicy: str | None = None


class BudgetStatus(Base):
    """status of a PodDisruptionBudget."""

    observedGeneration: int = 0
    disruptionsAllowed: int = 0
    currentHealthy: int = 0
    desiredHealthy: int = 0
    expectedPods: int = 0
    disruptedPods: dict[str, datetime] | None = None
    conditions: list[ConditionWithMessage] | None = None


class PodDisruptionBudget(Base):
    """A PodDisruptionBudget (policy/v1)."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)

    @property
    def doubt(self) -> str:
        """Why its status cannot be counted on, so that no eviction is allowed by it, or "".

        Source: checkAndDecrement in pkg/registry/core/pod/storage/eviction.go, and failSafe in
        pkg/controller/disruption/disruption.go.
        """
        status, name = self.status, f"PodDisruptionBudget {self.metadata.name}"
        for condition in status.conditions or ():
            if condition.reason == "SyncFailed" and condition.status != "True":
                text = f"the disruption controller cannot evaluate {name} (SyncFailed)"
                return f"{text}: {condition.message}" if condition.message else text
        if status.observedGeneration < self.metadata.generation:
            seen = status.observedGeneration
            return f"{name} is at generation {self.metadata.generation}, its status at {seen}"
        if status.disruptionsAllowed < 0:
            return f"{name} has a negative allowance of {status.disruptionsAllowed}"
        waiting = len(status.disruptedPods or ())
        if waiting > MOST_DISRUPTED:
            return f"{name} waits for {waiting} evicted pods to go, of at most {MOST_DISRUPTED}"
        return ""


class ServicePort(Base):
    """A port of a Service; `targetPort` is that of its pods, by number or name."""

    name: str = ""
    port: int = 0
    targetPort: int | str | None = None

    @property
    def target(self) -> int | str:
        """The port of its pods, which is its own where none is given."""
        return self.targetPort or self.port


class ServiceSpec(Base):
    """spec of a Service."""

    selector: Labels | None = None
    type: str = ""
    clusterIP: str = ""
    clusterIPs: list[str] | None = None
    externalIPs: list[str] | None = None
    externalName: str = ""
    ports: list[ServicePort] | None = None


class Service(Base):
    """A Service; its selector takes part in kube-scheduler's default spreading.

    Where it is reached tells which pods a cycle stands on.
    """

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)

    def selects(self, labels: Labels | None) -> bool:
        """Whether requests to it go to pods of its namespace with these labels."""
        selector = self.spec.selector
        if not selector or self.spec.type == "ExternalName":
            return False
        return selector.items() <= (labels or {}).items()


class Namespace(Base):
    """A Namespace; its labels are what namespace selectors select by."""

    metadata: NamespaceMeta = msgspec.field(default_factory=NamespaceMeta)


class PriorityClass(Base):
    """A PriorityClass."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    value: int = 0
    globalDefault: bool = False
    preemptionPolicy: str | None = None


class AutoscalerTarget(Base):
    """spec.scaleTargetRef of a HorizontalPodAutoscaler."""

    kind: str = ""
    name: str = ""


class AutoscalerSpec(Base):
    """spec of a HorizontalPodAutoscaler."""

    scaleTargetRef: AutoscalerTarget = msgspec.field(default_factory=AutoscalerTarget)
    minReplicas: int | None = None
    maxReplicas: int = 0


class AutoscalerStatus(Base):
    """status of a HorizontalPodAutoscaler."""

    currentReplicas: int | None = 0
    desiredReplicas: int = 0
    lastScaleTime: datetime | None = None
    conditions: list[Condition] | None = None


class HorizontalPodAutoscaler(Base):
    """A HorizontalPodAutoscaler (autoscaling/v2)."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: AutoscalerSpec = msgspec.field(default_factory=AutoscalerSpec)
    status: AutoscalerStatus = msgspec.field(default_factory=AutoscalerStatus)

    @property
    def scaling(self) -> bool:
        """Whether it goes to another number of pods.

        An autoscaler that is off or reads no metric writes its last number again, or 0 where it has
        never had one: it scales nothing.
        Source: reconcileAutoscaler in pkg/controller/podautoscaler/horizontal.go.
        """
        off = any(
            (condition.type == "ScalingActive" and condition.status != "True")
            or (condition.type == "AbleToScale" and condition.reason == "FailedGetScale")
            for condition in self.status.conditions or ()
        )
        never = self.status.desiredReplicas == 0 and self.spec.minReplicas != 0
        here = self.status.currentReplicas or 0
        return not off and not never and self.status.desiredReplicas != here


class QuotaScope(Base):
    """scopeSelector.matchExpressions[] of a ResourceQuota."""

    scopeName: str = ""
    operator: str = ""
    values: list[str] | None = None


class ScopeSelector(Base):
    """scopeSelector of a ResourceQuota."""

    matchExpressions: list[QuotaScope] | None = None


class ResourceQuotaSpec(Base):
    """spec of a ResourceQuota: which pods it counts."""

    scopes: list[str] | None = None
    scopeSelector: ScopeSelector | None = None


class ResourceQuotaStatus(Base):
    """status of a ResourceQuota: what is allowed and what is used."""

    hard: dict[str, str | int | float] | None = None
    used: dict[str, str | int | float] | None = None


class ResourceQuota(Base):
    """A ResourceQuota."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)

"""DefaultEvictor: which pods may be evicted at all, for all plugins of a profile.

Source: sigs.k8s.io/descheduler v0.36, pkg/framework/plugins/defaultevictor/types.go.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.policies.conversion.draft import LimitsDraft, MatchDraft
from rescheduler.policies.conversion.foreign_fields import (
    Count,
    ForeignSelector,
    GoDuration,
    SelectorText,
    TypedArguments,
)
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Same

CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""PriorityClasses that every cluster has."""

_NEVER = "Such pods are never moved: {}."
_DAEMONS = _NEVER.format("a replacement would come back to its node")
_CRITICAL = _NEVER.format("system-critical pods keep the cluster alive")
_BARE = _NEVER.format("nothing would make a bare pod again; `failed` of Conformity reports it")
_LOCAL = Becomes("`localStorage: Allow` of the Limits")
_CLAIMS = Becomes("`exclude: {persistentVolumeClaims}` of the `match`")
_BUDGETS = Becomes("`podDisruptionBudget: Exists` of the `match`")

Protection = Literal["PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"]
Default = Literal["PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"]


class StorageClassName(Strict):
    """A StorageClass whose pods are protected."""

    name: Annotated[str, Field(min_length=1), Becomes("`persistentVolumeClaims.storageClasses`")]


class ClaimProtection(Strict):
    """Which claims protect."""

    protectedStorageClasses: list[StorageClassName] | None = None


class ProtectionConfig(Strict):
    """Details of protections."""

    PodsWithPVC: ClaimProtection | None = None


class PodProtections(Strict):
    """Protections that are added to, or taken from, the default ones."""

    extraEnabled: Annotated[
        list[Protection] | None,
        Becomes(
            "the `match`: `exclude: {persistentVolumeClaims}`, `podDisruptionBudget: Exists`, "
            "`resourceClaims: DoesNotExist`"
        ),
    ] = None
    defaultDisabled: Annotated[
        list[Default] | None,
        Becomes("PodsWithLocalStorage: `localStorage: Allow` of the Limits; the others never move"),
    ] = None
    config: ProtectionConfig | None = None


class PriorityThreshold(Strict):
    """From which priority on pods stay; by its value, or by the name of a PriorityClass."""

    value: Annotated[int | None, Becomes("`maxPriority`, one less")] = None
    name: Annotated[
        str | None,
        Becomes("`maxPriority` for the two classes of Kubernetes; else `mode: Audit` until given"),
    ] = None

    @model_validator(mode="after")
    def _names_one(self) -> "PriorityThreshold":
        if self.value is not None and self.name:
            raise FieldError("give either `value` or `name`, as descheduler does")
        return self


class DefaultEvictorArgs(TypedArguments):
    """Of DefaultEvictor."""

    nodeSelector: Annotated[
        SelectorText | None,
        Lost(
            "Only nodeFit went by it: which nodes take pods in is kube-scheduler's choice. Keep "
            "pods off nodes by a taint, or by `avoidNodes` of the Limits.",
            ("",),
        ),
    ] = None
    evictLocalStoragePods: Annotated[bool | None, _LOCAL] = None
    evictDaemonSetPods: Annotated[bool | None, Lost(_DAEMONS, (False,))] = None
    evictSystemCriticalPods: Annotated[bool | None, Lost(_CRITICAL, (False,))] = None
    evictFailedBarePods: Annotated[bool | None, Lost(_BARE, (False,))] = None
    ignorePvcPods: Annotated[bool | None, _CLAIMS] = None
    ignorePodsWithoutPDB: Annotated[bool | None, _BUDGETS] = None
    podProtections: PodProtections | None = None
    labelSelector: ForeignSelector | None = None
    namespaceLabelSelector: ForeignSelector | None = None
    priorityThreshold: PriorityThreshold | None = None
    nodeFit: Annotated[
        bool | None,
        Same("always on: a pod is moved only where kube-scheduler has a place for it"),
    ] = None
    minReplicas: Annotated[Count | None, Becomes("`minReplicas` of the Limits")] = None
    minPodAge: Annotated[GoDuration | None, Becomes("`minPodAge` of the Limits")] = None
    noEvictionPolicy: Annotated[
        Literal["Preferred", "Mandatory"] | None,
        Same("always Mandatory: the annotation prefer-no-eviction is obeyed"),
    ] = None


def evictable_pods(made: DefaultEvictorArgs) -> MatchDraft:
    """The pods that the evictor would evict."""
    selection = MatchDraft()
    extra = (made.podProtections and made.podProtections.extraEnabled) or ()
    selection.add_labels(made.labelSelector)
    if made.namespaceLabelSelector is not None:
        selection.in_namespaces += made.namespaceLabelSelector.requirements
    if made.ignorePvcPods or "PodsWithPVC" in extra:
        selection.excludes.append({"persistentVolumeClaims": _claims(made.podProtections)})
    if made.ignorePodsWithoutPDB or "PodsWithoutPDB" in extra:
        selection.others["podDisruptionBudget"] = "Exists"
    if "PodsWithResourceClaims" in extra:
        selection.others["resourceClaims"] = "DoesNotExist"
    return selection


def limit_by(made: DefaultEvictorArgs, limits: LimitsDraft) -> None:
    """Note what the evictor says that holds for all policies here."""
    disabled = (made.podProtections and made.podProtections.defaultDisabled) or ()
    limits.local_storage.append(
        bool(made.evictLocalStoragePods) or "PodsWithLocalStorage" in disabled
    )
    limits.require("minReplicas", None if made.minReplicas is None else max(1, made.minReplicas))
    limits.require("minPodAge", made.minPodAge)


def priority_spec(made: DefaultEvictorArgs) -> dict[str, Any]:
    """`maxPriority` and what else policies have of the threshold.

    Pods of any priority may go where SystemCriticalPods are not protected.
    """
    threshold = made.priorityThreshold
    if threshold is None or threshold.name == "" or any_priority(made):
        return {}
    value = threshold.value if threshold.value is not None else CLASSES.get(threshold.name or "")
    return {} if value is None else {"maxPriority": value - 1}


def unknown_class(made: DefaultEvictorArgs) -> str:
    """The PriorityClass whose value is not known, or ""."""
    threshold = made.priorityThreshold
    if threshold is None or any_priority(made) or threshold.name in CLASSES:
        return ""
    return threshold.name or ""


def any_priority(made: DefaultEvictorArgs) -> bool:
    """Whether priorities protect no pod there."""
    disabled = (made.podProtections and made.podProtections.defaultDisabled) or ()
    return bool(made.evictSystemCriticalPods) or "SystemCriticalPods" in disabled


def _claims(protections: PodProtections | None) -> dict[str, Any]:
    config = protections.config if protections is not None else None
    claims = config.PodsWithPVC if config is not None else None
    classes = claims.protectedStorageClasses if claims is not None else None
    return {"storageClasses": [one.name for one in classes]} if classes else {"all": True}

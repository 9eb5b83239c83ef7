"""Which scheduler is modelled: its plugins, weights and arguments, and what its version does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rescheduler.kube.objects import NodeAffinity, TopologySpreadConstraint

DEFAULT_SCHEDULER = "default-scheduler"

Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]


@dataclass(frozen=True, slots=True)
class ScoringStrategy:
    """How NodeResourcesFit scores a node by how full it would be.

    resources: name and weight, 1 to 100, of each resource that counts.
    shape: for RequestedToCapacityRatio, utilization (0 to 100) and score (0 to 10) of each point,
    with increasing utilization.
    """

    type: Strategy = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
    shape: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A scheduler's profile, with what differs between versions.

    name: the value of `spec.schedulerName` that this profile serves.
    problem: why nothing that this scheduler does can be predicted; "" where it can.
    version: of the scheduler, as `1.36`.
    filters, weights: the plugins that filter, and those that score with what their scores count.
    percentage: percentageOfNodesToScore; 0 adapts to the number of nodes.
    strategy, ignored_resources, ignored_groups: arguments of NodeResourcesFit.
    balanced_resources: what NodeResourcesBalancedAllocation scores.
    default_constraints: of PodTopologySpread, for pods that have none; None is the system's own.
    hard_pod_affinity_weight, ignore_preferred_terms: arguments of InterPodAffinity.
    added_affinity: of NodeAffinity, for every pod.
    beyond_us: resources that an extender decides on, each with a sentence that explains it.
    pod_level_resources: a pod's own requests replace the sum of its containers' (since 1.34).
    resizes_by_sum: of a pod in resize the most of the sums over its containers counts (since 1.37).
    balanced_difference: BalancedAllocation scores the change a pod makes (since 1.36), not the end.
    image_volumes: ImageLocality counts image volumes (since 1.36).
    image_volumes_in_threshold: and counts them in its upper threshold (since 1.37).
    empty_spread_selector: an empty selector of a spread constraint counts all pods (since 1.38).
    stamps_topology: binding copies the node's zone and region to the pod's labels (since 1.35).
    declared_features: NodeDeclaredFeatures is on (since 1.36).
    extended_devices: DRAExtendedResource is on: device classes serve extended resources (1.36).
    consumable_capacity: DRAConsumableCapacity is on: claims consume parts of devices (since 1.36).
    partitions: DRAPartitionableDevices is on: claims get partitions of devices (since 1.36).
    device_taint_rules: DRADeviceTaintRules is on: administrators taint devices (since 1.37).
    capacity_scoring: StorageCapacityScoring is on: VolumeBinding scores (since 1.37).
    drivers_required: VolumeLimitScaling is on: a CSI driver may insist on being there (1.37).
    hears_late: it may place a replacement before it hears that the old pod goes, or is gone (before
    1.35, as bound pods and others reach it on two ways: addAllEventHandlers in pkg/scheduler).
    pod_groups: the version of the API by which it reads PodGroups; "" before 1.36.
    """

    name: str = DEFAULT_SCHEDULER
    problem: str = ""
    version: str = ""
    filters: frozenset[str]
    weights: Mapping[str, int]
    percentage: int = 0
    strategy: ScoringStrategy = field(default_factory=ScoringStrategy)
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    balanced_resources: tuple[str, ...] = ("cpu", "memory")
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms: bool = False
    added_affinity: NodeAffinity | None = None
    beyond_us: Mapping[str, str] = field(default_factory=dict)
    pod_level_resources: bool = True
    resizes_by_sum: bool = False
    balanced_difference: bool = True
    image_volumes: bool = True
    image_volumes_in_threshold: bool = False
    empty_spread_selector: bool = False
    stamps_topology: bool = True
    declared_features: bool = True
    extended_devices: bool = True
    consumable_capacity: bool = True
    partitions: bool = True
    device_taint_rules: bool = False
    capacity_scoring: bool = False
    drivers_required: bool = False
    hears_late: bool = False
    pod_groups: str = "v1alpha2"

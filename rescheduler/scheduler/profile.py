"""Which scheduler is modelled: its name, its weights, and what its version does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

WEIGHTS: Mapping[str, int] = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
"""Weights of the default profile. Source: pkg/scheduler/apis/config/v1/default_plugins.go."""

OLDEST_MINOR = 33
"""The oldest minor version of Kubernetes 1 whose scheduler this model follows."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A scheduler's profile, with what differs between versions.

    names: the values of `spec.schedulerName` that this profile serves.
    percentage: percentageOfNodesToScore; 0 adapts to the number of nodes.
    pod_level_resources: a pod's own requests replace the sum of its containers' (since 1.34).
    balanced_difference: BalancedAllocation scores the change a pod makes (since 1.36), not the end.
    image_volumes: ImageLocality looks at image volumes (since 1.36).
    image_volumes_in_threshold: and counts them in its upper threshold (since 1.37).
    empty_spread_selector: an empty selector of a spread constraint counts all pods (since 1.38).
    stamps_topology: binding copies the node's zone and region to the pod's labels (since 1.35).
    """

    names: frozenset[str] = frozenset({"default-scheduler"})
    weights: Mapping[str, int] = field(default_factory=lambda: dict(WEIGHTS))
    percentage: int = 0
    pod_level_resources: bool = True
    balanced_difference: bool = True
    image_volumes: bool = True
    image_volumes_in_threshold: bool = False
    empty_spread_selector: bool = False
    stamps_topology: bool = True


def profile_of(version: str) -> Profile | None:
    """The default profile of that server version, or None where we do not model it.

    version: as the API server says it: `v1.36.3`, `1.34.4-gke.1`, `v1.35.1-eks-113cf36`.
    """
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        return None
    major, minor = int(found[1]), int(found[2])
    if major != 1 or minor < OLDEST_MINOR:
        return None
    return Profile(
        pod_level_resources=minor >= 34,
        balanced_difference=minor >= 36,
        image_volumes=minor >= 36,
        image_volumes_in_threshold=minor >= 37,
        empty_spread_selector=minor >= 38,
        stamps_topology=minor >= 35,
    )

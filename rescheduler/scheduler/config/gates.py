"""Feature gates of kube-scheduler that decide placements, on and off."""

from collections.abc import Mapping
from dataclasses import replace

from rescheduler.scheduler.profile import DECLARED, Profile, minor_of

_NEVER = 10_000

SWITCHES: Mapping[str, str] = {
    "NodeDeclaredFeatures": "declared_features",
    "DRAExtendedResource": "extended_devices",
    "StorageCapacityScoring": "capacity_scoring",
    "VolumeLimitScaling": "drivers_required",
}
"""Gates that the model follows on and off, with the field of the profile."""

FOLLOWED: Mapping[str, int] = {
    "InPlacePodVerticalScaling": 33,
    "MatchLabelKeysInPodTopologySpread": 0,
    "NodeInclusionPolicyInPodTopologySpread": 0,
    "SidecarContainers": 0,
    "PodLevelResources": 34,
    "InPlacePodLevelResourcesVerticalScaling": 36,
    "DynamicResourceAllocation": 34,
    "TaintTolerationComparisonOperators": _NEVER,
}
"""Gates that the model follows only as they are by default: on from this minor version on.

Source: pkg/features/kube_features.go. Gates that matter only to pods that are refused anyway
(scheduling groups) or only to when a pod is tried (queueing, preemption) are left out. So is
OpportunisticBatching: where a profile has no default spread constraints, a pod that equals the one
placed within the last half second may be put on the next best node of that one.
"""


def with_gates(profile: Profile, gates: Mapping[str, bool]) -> Profile:
    """The profile with these gates as they are; one that is on or off beyond us is a problem."""
    minor = minor_of(profile.version)
    if minor is None or profile.problem:
        return profile
    for name, since in FOLLOWED.items():
        if name in gates and gates[name] != (minor >= since):
            state = "on" if gates[name] else "off"
            problem = f"its feature gate {name} is {state}, which is not modelled"
            return replace(profile, problem=problem)
    switched = {field: gates[name] for name, field in SWITCHES.items() if name in gates}
    made = replace(profile, **switched)  # type: ignore[arg-type]
    return made if made.declared_features else replace(made, filters=made.filters - DECLARED)

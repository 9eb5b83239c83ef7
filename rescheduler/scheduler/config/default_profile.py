"""The profile of a scheduler that nobody has configured, as each version of Kubernetes has it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rescheduler.scheduler.plugins.default_plugins import FILTERS, GATES, PLUGINS, WEIGHTS
from rescheduler.scheduler.profile import DEFAULT_SCHEDULER, Profile

OLDEST_MINOR = 33
"""The oldest minor version of Kubernetes 1 whose scheduler this model follows."""


def minor_of(version: str) -> int | None:
    """The minor version of Kubernetes 1, or None where this is not a version that we model.

    version: as the API server reports it: `v1.36.3`, `1.34.4-gke.1`, `v1.35.1-eks-113cf36`.
    """
    match = re.match(r"v?1\.(\d+)(?!\d)", version)
    return int(match[1]) if match is not None and int(match[1]) >= OLDEST_MINOR else None


@lru_cache(maxsize=16)
def profile_of(version: str) -> Profile | None:
    """The default profile of that server version (see `minor_of`), or None: not modelled."""
    minor = minor_of(version)
    if minor is None:
        return None
    present = {plugin.name for plugin in PLUGINS if plugin.by_default(minor)}
    scoring = {plugin.name for plugin in PLUGINS if plugin.scores_since <= minor}
    gates: dict[str, Any] = {gate.field: gate.by_default(minor) for gate in GATES if gate.field}
    made = Profile(
        version=f"1.{minor}",
        filters=FILTERS & present,
        weights={name: weight for name, weight in WEIGHTS.items() if name in present & scoring},
        pod_level_resources=minor >= 34,
        resizes_by_sum=minor >= 37,
        balanced_difference=minor >= 36,
        image_volumes=minor >= 36,
        image_volumes_in_threshold=minor >= 37,
        empty_spread_selector=minor >= 38,
        stamps_topology=minor >= 35,
        hears_late=minor < 35,
        pod_groups="v1beta1" if minor >= 37 else "v1alpha2" if minor == 36 else "",
    )
    return replace(made, **gates)


def default_profile(version: str) -> Profile:
    """The same, or a profile that predicts nothing."""
    profile = profile_of(version)
    if profile is not None:
        return profile
    problem = f"the scheduler of server version {version or 'unknown'} is not modelled"
    return Profile(problem=problem, filters=FILTERS, weights=WEIGHTS)


def counting_profile(profiles: Mapping[str, Profile], version: str) -> Profile:
    """By whose version pods count what they request: the default scheduler's, as most pods have it.

    profiles: schedulers by name. version: of the API server, where that scheduler is not known.
    """
    usual = profiles.get(DEFAULT_SCHEDULER)
    return usual if usual is not None and usual.version else default_profile(version)


def default_profiles(version: str) -> dict[str, Profile]:
    """The one scheduler of a cluster that declares none, by its name."""
    profile = default_profile(version)
    return {profile.name: profile}

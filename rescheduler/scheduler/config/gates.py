"""Feature gates of kube-scheduler that decide placements, on and off."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.scheduler.plugins.default_plugins import GATES, PLUGINS
from rescheduler.scheduler.profile import Profile


def with_gates(profile: Profile, gates: Mapping[str, bool]) -> Profile:
    """The profile with these gates as they are; one that is on or off beyond us is a problem."""
    minor = minor_of(profile.version)
    if minor is None or profile.problem:
        return profile
    known = [each for each in GATES if each.name in gates]
    for each in known:
        if not each.field and gates[each.name] != each.by_default(minor):
            state = "on" if gates[each.name] else "off"
            problem = f"its feature gate {each.name} is {state}, which is not modelled"
            return replace(profile, problem=problem)
    switched: dict[str, Any] = {each.field: gates[each.name] for each in known if each.field}
    made = replace(profile, **switched)
    absent = {
        each.name
        for each in PLUGINS
        if each.gate is not None and each.gate.field and not getattr(made, each.gate.field)
    }
    weights = {name: weight for name, weight in made.weights.items() if name not in absent}
    return replace(made, filters=made.filters - absent, weights=weights)

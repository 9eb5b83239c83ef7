"""From what is written about a scheduler to the profile that the model follows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from rescheduler.kube.objects import NodeAffinity, TopologySpreadConstraint
from rescheduler.scheduler.config.default_profile import default_profile, minor_of
from rescheduler.scheduler.config.known_plugins import EXTENSION_POINTS, PLACELESS
from rescheduler.scheduler.config.kube_scheduler_configuration import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginEntry,
    Plugins,
)
from rescheduler.scheduler.config.plugin_arguments import (
    Arguments,
    CapacityRatio,
    Scoring,
    WeightedResource,
)
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.plugins.default_plugins import GATES, PLUGINS
from rescheduler.scheduler.profile import Profile, ScoringStrategy


def with_gates(profile: Profile, gates: Mapping[str, bool]) -> Profile:
    """The profile with these gates as they are; one that is on or off beyond us is a problem."""
    minor = minor_of(profile.version)
    if minor is None or profile.problem:
        return profile
    known_gates = [gate for gate in GATES if gate.name in gates]
    for gate in known_gates:
        if not gate.field and gates[gate.name] != gate.by_default(minor):
            state = "on" if gates[gate.name] else "off"
            problem = f"its feature gate {gate.name} is {state}, which is not modelled"
            return replace(profile, problem=problem)
    switched: dict[str, Any] = {gate.field: gates[gate.name] for gate in known_gates if gate.field}
    made = replace(profile, **switched)
    absent = {
        plugin.name
        for plugin in PLUGINS
        if plugin.gate is not None and plugin.gate.field and not getattr(made, plugin.gate.field)
    }
    weights = {name: weight for name, weight in made.weights.items() if name not in absent}
    return replace(made, filters=made.filters - absent, weights=weights)


NOT_MODELLED = "its plugin {} is not modelled"
HALF_ON = "its plugin {} is on at some extension points only"
MAY_DECIDE = "the extender {} may decide where it goes"

_PREPARED_FILTERS = {e.name for e in PLUGINS if e.filters() and e.needs_pre_filter}
_PREPARED_SCORES = {e.name for e in PLUGINS if e.weight and e.needs_pre_score}

_STORAGE_SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
"""The default of VolumeBinding's shape, which the model follows."""


def usual_profile(name: str, version: str) -> Profile:
    """The default profile of that version under this name, or one that cannot be predicted."""
    profile = replace(default_profile(version), name=name)
    if profile.problem:
        problem = f"version {version or 'unknown'} of the scheduler is not modelled"
        return replace(profile, problem=problem)
    return profile


def declared_profiles(
    document: Scheduler, version: str, gates: Mapping[str, bool]
) -> list[Profile]:
    """The profiles of the schedulers that a document declares.

    version: of the scheduler, where the document does not name it.
    gates: the feature gates that are known beside those that the document names.
    """
    version, gates = document.version or version, {**gates, **document.featureGates}
    if document.configuration is not None:
        return configured_profiles(document.configuration, version, gates, [document])
    usual = usual_profile(document.schedulerName, version)
    off = set(document.disabledScores)
    made = replace(
        usual,
        percentage=document.percentageOfNodesToScore,
        filters=usual.filters - set(document.disabledFilters),
        weights={
            name: document.weights.get(name, weight)
            for name, weight in usual.weights.items()
            if name not in off
        },
    )
    added = [plugin.name for plugin in document.addedPlugins if plugin.affectsPlacement]
    if added:
        made = _with_problem(made, NOT_MODELLED.format(added[0]))
    return [with_gates(with_arguments(made, document.arguments), gates)]


def configured_profiles(
    configuration: KubeSchedulerConfiguration,
    version: str,
    gates: Mapping[str, bool],
    documents: Iterable[Scheduler] = (),
    *,
    complete: bool = False,
) -> list[Profile]:
    """The profiles of a whole configuration.

    documents: what operators declare of added plugins and extenders.
    complete: whether the defaults are in it already, as in what a scheduler answers.
    """
    documents = list(documents)
    extenders = {url for document in documents for url in document.harmlessExtenders}
    answer = []
    for name, written in configuration.profiles_in_force:
        harmless = frozenset[str]().union(
            *(document.harmless_plugins for document in documents if name in document.names)
        )
        made = _configure_profile(
            usual_profile(name, version), written, harmless, complete=complete
        )
        percentage = written.percentageOfNodesToScore
        if percentage is None:
            percentage = configuration.percentageOfNodesToScore or 0
        made = with_gates(replace(made, percentage=percentage), gates)
        for extender in configuration.extenders or ():
            made = _with_extender(made, extender, extenders)
        answer.append(made)
    return answer


def with_arguments(profile: Profile, arguments: Arguments) -> Profile:
    """The profile with the arguments that are given."""
    changes: dict[str, Any] = {}
    if fit := arguments.NodeResourcesFit:
        changes["ignored_resources"] = frozenset(fit.ignoredResources or ())
        changes["ignored_groups"] = frozenset(fit.ignoredResourceGroups or ())
        if fit.scoringStrategy is not None:
            changes["strategy"] = _strategy(fit.scoringStrategy)
    if (balanced := arguments.NodeResourcesBalancedAllocation) and balanced.resources:
        changes["balanced_resources"] = tuple(resource.name for resource in balanced.resources)
    if (spread := arguments.PodTopologySpread) and spread.defaultingType == "List":
        changes["default_constraints"] = tuple(
            msgspec.convert(constraint.model_dump(exclude_none=True), TopologySpreadConstraint)
            for constraint in spread.constraints
        )
    if near := arguments.InterPodAffinity:
        changes["hard_pod_affinity_weight"] = near.hardPodAffinityWeight
        changes["ignore_preferred_terms"] = near.ignorePreferredTermsOfExistingPods
    if (nodes := arguments.NodeAffinity) and nodes.addedAffinity is not None:
        added = nodes.addedAffinity.model_dump(exclude_none=True)
        changes["added_affinity"] = msgspec.convert(added, NodeAffinity)
    return replace(profile, **changes)


def _configure_profile(
    usual: Profile, written: KubeSchedulerProfile, harmless: frozenset[str], *, complete: bool
) -> Profile:
    plugins = written.plugins or Plugins()
    everywhere = _multi_point_plugins(
        usual, plugins, complete=complete and written.plugins is not None
    )
    filters = _plugins_at(plugins, "filter", everywhere) & usual.filters
    prepared = _plugins_at(plugins, "preFilter", everywhere)
    scores = _plugins_at(plugins, "score", everywhere) & set(usual.weights)
    weights = {**everywhere, **{e.name: e.weight or 1 for e in plugins.score.enabled or ()}}
    made = replace(
        usual,
        filters=frozenset(filters),
        weights={n: weights[n] for n in usual.weights if n in scores},
    )
    for config in written.pluginConfig or ():
        made = with_arguments(made, config.parse_arguments())
        shape = (config.args or {}).get("shape")
        if config.name == "VolumeBinding" and shape not in (None, _STORAGE_SHAPE):
            made = _with_problem(made, "the shape of its plugin VolumeBinding is not modelled")
    unknown = sorted(_deciding_plugins(plugins) - usual.filters - set(usual.weights) - harmless)
    if unknown:
        made = _with_problem(made, NOT_MODELLED.format(unknown[0]))
    halves = (filters ^ prepared) & _PREPARED_FILTERS
    halves |= (scores - _plugins_at(plugins, "preScore", everywhere)) & _PREPARED_SCORES
    if halves:
        made = _with_problem(made, HALF_ON.format(min(halves)))
    return made


def _multi_point_plugins(usual: Profile, plugins: Plugins, *, complete: bool) -> dict[str, int]:
    """The plugins that are on at every extension point that they have, with their weights.

    Source: mergePluginSet in pkg/scheduler/apis/config/v1/default_plugins.go.
    """
    own = {
        plugin_entry.name: plugin_entry.weight or 1
        for plugin_entry in plugins.multiPoint.enabled or ()
    }
    off = _names(plugins.multiPoint.disabled)
    if complete or "*" in off:
        return own
    defaults = dict.fromkeys((*usual.filters, *PLACELESS), 1) | dict(usual.weights)
    return {name: default for name, default in defaults.items() if name not in off} | own


def _plugins_at(plugins: Plugins, point: str, everywhere: Mapping[str, int]) -> set[str]:
    """The plugins that are on at one extension point.

    Source: expandMultiPointPlugins in pkg/scheduler/framework/runtime/framework.go.
    """
    here = getattr(plugins, point)
    off = _names(here.disabled)
    return _names(here.enabled) | (set() if "*" in off else set(everywhere) - off)


def _deciding_plugins(plugins: Plugins) -> set[str]:
    """Every plugin that is turned on where it may decide on which node a pod goes."""
    answer = set[str]()
    for point in ("multiPoint", *EXTENSION_POINTS):
        for name in _names(getattr(plugins, point).enabled):
            if name not in PLACELESS or point not in ("multiPoint", *PLACELESS[name]):
                answer.add(name)
    return answer


def _names(entries: Iterable[PluginEntry] | None) -> set[str]:
    return {entry.name for entry in entries or ()}


def _strategy(scoring: Scoring) -> ScoringStrategy:
    resources = scoring.resources or [WeightedResource(name=n) for n in ("cpu", "memory")]
    ratio = scoring.requestedToCapacityRatio if scoring.type == "RequestedToCapacityRatio" else None
    return ScoringStrategy(
        type=scoring.type,
        resources=tuple((resource.name, resource.weight or 1) for resource in resources),
        shape=_points(ratio),
    )


def _points(ratio: CapacityRatio | None) -> tuple[tuple[int, int], ...]:
    return tuple((point.utilization, point.score) for point in ratio.shape) if ratio else ()


def _with_extender(profile: Profile, extender: Extender, harmless: set[str]) -> Profile:
    """The profile beside an extender: it may decide on every pod, or on some resources."""
    if extender.ignorable and extender.urlPrefix in harmless:
        return profile
    if not (extender.filterVerb or extender.prioritizeVerb or extender.bindVerb):
        return profile
    sentence = MAY_DECIDE.format(extender.urlPrefix)
    if not extender.managedResources:
        return _with_problem(profile, sentence)
    managed = {resource.name: sentence for resource in extender.managedResources}
    ignored = {
        resource.name for resource in extender.managedResources if resource.ignoredByScheduler
    }
    return replace(
        profile,
        beyond_us={**profile.beyond_us, **managed},
        ignored_resources=profile.ignored_resources | ignored,
    )


def _with_problem(profile: Profile, problem: str) -> Profile:
    """The first problem is the one that is reported."""
    return profile if profile.problem else replace(profile, problem=problem)

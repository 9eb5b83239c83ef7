"""DeschedulerConfiguration of Koordinator: LowNodeLoad, and descheduler's plugins beside it.

Source: koordinator-sh/koordinator, pkg/descheduler/apis/config/v1alpha2/types*.go.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from rescheduler.documents.fields import Strict, duration_text
from rescheduler.documents.strict_yaml import Tree
from rescheduler.documents.validation import validate_part
from rescheduler.policies.conversion.descheduler_policy import (
    convert_policy,
    fields_of,
    slug,
)
from rescheduler.policies.conversion.draft import Conversion, Draft
from rescheduler.policies.conversion.foreign_fields import (
    Count,
    ForeignNamespaces,
    ForeignSelector,
    GoDuration,
    Thresholds,
    TypedArguments,
    seconds_text,
    selector_spec,
)
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Same, note_of, notes_on
from rescheduler.policies.conversion.plugins import PLUGINS, ForeignPlugin
from rescheduler.policies.conversion.utilization_plugins import load_specs

CONTROLLER = "MigrationController"
_RECEIVING = Lost(
    "koord-descheduler evicts nothing while no node is below all of these thresholds. Here no "
    "threshold says which nodes take pods in: a pod is moved where kube-scheduler will put it, "
    "below `high` there. Look at what the policy reports, and take `mode: Audit` away.",
    restricts=True,
)
_ENOUGH_NODES = Lost(
    "koord-descheduler evicts nothing while at most this many nodes are below the thresholds. Here "
    "each move must gain by itself. Take `mode: Audit` away when what the policy reports is right.",
    (0,),
    restricts=True,
)
_PROD = Lost("Every pod's load counts: there are no thresholds for one class of pods.")
_WEIGHTS = Lost("Each resource above its target is charged in pods; none weighs more.")
_OWN_RUN = Same("how koord-descheduler itself runs")
_UNKNOWN = Lost("Koordinator does not know this field and ignores it.")
_ABNORMALITIES = 5
"""What consecutiveAbnormalities is unless given."""
_AT_A_TIME = 1
"""Replacements of a workload that may be pending where the controller names no number."""
_DRY = Becomes("`mode: Audit`")


class _Anomaly(Strict):
    timeout: Annotated[GoDuration | None, Lost("`stableFor` looks back for as long as it is.")] = (
        None
    )
    consecutiveAbnormalities: Annotated[
        Count | None, Becomes("`stableFor`: so many cycles of deschedulingInterval")
    ] = None
    consecutiveNormalities: Annotated[
        Count | None, Lost("A node is no longer hot with the first value that says so.")
    ] = None


class _Pool(Strict):
    name: Annotated[str | None, Becomes("the name of a policy")] = None
    nodeSelector: ForeignSelector | None = None
    useDeviationThresholds: Annotated[bool | None, Becomes("`strategy: Balance`")] = None
    highThresholds: Annotated[Thresholds | None, Becomes("`high` of `targets`")] = None
    lowThresholds: Annotated[Thresholds | None, _RECEIVING] = None
    prodHighThresholds: Annotated[Thresholds | None, _PROD] = None
    prodLowThresholds: Annotated[Thresholds | None, _PROD] = None
    resourceWeights: Annotated[dict[str, int] | None, _WEIGHTS] = None
    anomalyCondition: _Anomaly | None = None


class _PodSelector(Strict):
    name: Annotated[str | None, Becomes("the name of a policy, of several")] = None
    selector: ForeignSelector | None = None


class LowNodeLoadArgs(TypedArguments, _Pool):
    """Of LowNodeLoad."""

    paused: Annotated[bool | None, _DRY] = None
    dryRun: Annotated[bool | None, _DRY] = None
    numberOfNodes: Annotated[Count | None, _ENOUGH_NODES] = None
    nodeMetricExpirationSeconds: Annotated[
        int | None, Field(ge=1), Becomes("`maxAge` of the readings")
    ] = None
    evictableNamespaces: ForeignNamespaces | None = None
    podSelectors: list[_PodSelector] | None = None
    nodeFit: Annotated[
        bool | None, Same("always on: a pod is moved only where it is likely to go")
    ] = None
    detectorCacheTimeout: Annotated[GoDuration | None, _OWN_RUN] = None
    nodePools: list[_Pool] | None = None


class ControllerArgs(TypedArguments):
    """Fields of MigrationController that say which pods may be evicted, and how many."""

    dryRun: Annotated[bool | None, _DRY] = None
    maxMigratingGlobally: Annotated[Count | None, Becomes("`movesPerCycle`")] = None
    maxMigratingPerNode: Annotated[Count | None, Becomes("`movesPerNode`")] = None
    maxMigratingPerNamespace: Annotated[Count | None, Becomes("`movesPerNamespace`")] = None
    maxMigratingPerWorkload: Annotated[
        int | str | None, Becomes("`inFlightPerWorkload`, where it is a number")
    ] = None
    maxUnavailablePerWorkload: Annotated[
        int | str | None,
        Lost(
            "A workload that lacks a Ready pod is left alone, whatever its size (ELG024); see "
            "`inFlightPerWorkload`."
        ),
    ] = None
    namespaces: ForeignNamespaces | None = None


EVICTOR_FIELDS = (
    "evictFailedBarePods",
    "evictLocalStoragePods",
    "evictSystemCriticalPods",
    "evictDaemonSetPods",
    "ignorePvcPods",
    "labelSelector",
    "nodeFit",
    "priorityThreshold",
)
"""Fields of MigrationController that are those of DefaultEvictor."""
_JOBS = Lost(
    "Of PodMigrationJobs, which are not made here: pods are evicted one batch after the other "
    "through the Eviction API, and their replacements are followed."
)
_POLICY_FIELDS = (
    "profiles",
    "maxNoOfPodsToEvictPerNode",
    "maxNoOfPodsToEvictPerNamespace",
    "maxNoOfPodsToEvictTotal",
    "apiVersion",
    "kind",
    "metadata",
)


class _Run(Strict):
    deschedulingInterval: GoDuration | None = None
    dryRun: bool | None = None
    nodeSelector: ForeignSelector | None = None


def _low_load(arguments: LowNodeLoadArgs, draft: Draft) -> Iterator[Draft]:
    """One policy for each pool of nodes, and each selector of pods."""
    draft.reports_only |= bool(arguments.paused or arguments.dryRun)
    pools: list[_Pool] = [arguments] if arguments.highThresholds else []
    selectors = arguments.podSelectors or [_PodSelector()]
    for number, pool in enumerate([*pools, *(arguments.nodePools or ())]):
        of_pool = f"-{slug(pool.name)}" if pool.name else f"-{number}" if number else ""
        for suffix, spec in _pool_specs(pool, arguments, draft):
            for selector in selectors:
                of_pods = f"-{slug(selector.name or '')}" if len(selectors) > 1 else ""
                made = draft.variant(f"{of_pool}{suffix}{of_pods}", "Utilization", **spec)
                made.selection.add_labels(selector.selector)
                yield made


def _pool_specs(
    pool: _Pool, arguments: LowNodeLoadArgs, draft: Draft
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What policies say of a pool, each with the suffix of its name."""
    high = pool.highThresholds or arguments.highThresholds or {}
    measured = {name: most for name, most in high.items() if name in ("cpu", "memory")}
    more: dict[str, Any] = {}
    if pool.nodeSelector is not None and pool.nodeSelector.requirements:
        labels = draft.spec.get("nodes", {}).get("labels", {})
        whole = ForeignSelector.model_validate(labels).requirements
        more["nodes"] = {"labels": selector_spec(whole + pool.nodeSelector.requirements)}
    anomaly = pool.anomalyCondition or arguments.anomalyCondition
    times = (anomaly.consecutiveAbnormalities if anomaly else None) or _ABNORMALITIES
    if draft.every:
        more["stableFor"] = seconds_text(times * draft.every)
    if arguments.nodeMetricExpirationSeconds:
        more["maxAge"] = seconds_text(arguments.nodeMetricExpirationSeconds)
    for suffix, spec in load_specs(measured, deviating=pool.useDeviationThresholds):
        yield suffix, spec | more


LOW_NODE_LOAD = ForeignPlugin(
    "balance",
    LowNodeLoadArgs,
    "Utilization",
    "low-node-load",
    "Utilization, a policy for each of `nodePools`",
    _low_load,
)
KOORDINATOR_PLUGINS = {**PLUGINS, "LowNodeLoad": LOW_NODE_LOAD}


def convert_configuration(tree: Tree, conversion: Conversion) -> None:
    """Add what the configuration becomes."""
    fields, run = {}, {}
    for key, child in fields_of(tree).items():
        if key in _Run.model_fields:
            run[key] = child
        elif key in _POLICY_FIELDS:
            fields[key] = child
        else:
            conversion.notes.append(note_of(child, conversion.paths, _OWN_RUN))
    part = Tree(dict(run), tree.mark, {key: tree.keys[key] for key in run})
    made, problems = validate_part(part, _Run)
    conversion.problems += problems
    if made is None:
        return
    conversion.every = made.deschedulingInterval
    conversion.reports_only |= bool(made.dryRun)
    if made.deschedulingInterval is not None:
        text = (
            f"How often it runs is an option: `--every {duration_text(made.deschedulingInterval)}`."
        )
        place = run["deschedulingInterval"]
        conversion.notes.append(note_of(place, conversion.paths, Lost(text)))
    if "nodeSelector" in run:
        fields["nodeSelector"] = _as_text(made.nodeSelector, run["nodeSelector"], conversion)
    profiles = fields.get("profiles")
    if profiles is not None and isinstance(profiles.value, list):
        made_profiles = [
            _profile(profile, number, conversion) for number, profile in enumerate(profiles.value)
        ]
        fields["profiles"] = conversion.tree_at(made_profiles, profiles)
    keys = {key: tree.keys.get(key, tree.mark) for key in fields}
    whole = conversion.put_at(Tree(dict(fields), tree.mark, keys), tree)
    convert_policy(whole, conversion, KOORDINATOR_PLUGINS)


def _as_text(selector: ForeignSelector | None, tree: Tree, conversion: Conversion) -> Tree:
    """A selector in one line, as descheduler has it."""
    terms = []
    for one in selector.requirements if selector is not None else ():
        names = ",".join(one.values)
        terms.append(
            {
                "In": f"{one.key} in ({names})",
                "NotIn": f"{one.key} notin ({names})",
                "Exists": one.key,
                "DoesNotExist": f"!{one.key}",
            }[one.operator]
        )
    return conversion.tree_at(",".join(terms), tree)


def _profile(profile: Tree, number: int, conversion: Conversion) -> Tree:
    """A profile with plugins by their names alone, and with DefaultEvictor's arguments."""
    fields = dict(fields_of(profile))
    if "nodeSelector" in fields:
        selector, problems = validate_part(fields["nodeSelector"], ForeignSelector)
        conversion.problems += problems
        fields["nodeSelector"] = _as_text(selector, fields["nodeSelector"], conversion)
    points = fields.get("plugins")
    if points is not None:
        made = {
            point: conversion.tree_at(_plugin_names(plugins, conversion), plugins)
            for point, plugins in fields_of(points).items()
        }
        fields["plugins"] = conversion.tree_at(made, points)
    configs = fields.get("pluginConfig")
    if configs is not None and isinstance(configs.value, list):
        kept = [_config(config, number, conversion) for config in configs.value]
        fields["pluginConfig"] = conversion.tree_at(kept, configs)
    return conversion.tree_at(fields, profile)


def _plugin_names(plugins: Tree, conversion: Conversion) -> dict[str, Any]:
    """The names in `enabled` and `disabled`, without the controller, which is no rule."""
    named: dict[str, Any] = dict(fields_of(plugins))
    for key in ("enabled", "disabled"):
        if key in named:
            elements = named[key].value if isinstance(named[key].value, list) else []
            trees = [_name_of(element, conversion) for element in elements]
            named[key] = [tree for tree in trees if tree.value != CONTROLLER]
    return named


def _name_of(entry: Tree, conversion: Conversion) -> Tree:
    """The name in an entry; what else it has is noted."""
    _note_others(entry, ("name",), conversion)
    return fields_of(entry).get("name", entry)


def _note_others(tree: Tree, names: tuple[str, ...], conversion: Conversion) -> None:
    for key, child in fields_of(tree).items():
        if key not in names:
            conversion.notes.append(note_of(child, conversion.paths, _UNKNOWN))


def _config(config: Tree, number: int, conversion: Conversion) -> Tree:
    """The arguments of a plugin; those of the controller as DefaultEvictor's.

    number: of the profile.
    """
    fields = fields_of(config)
    if "name" not in fields or fields["name"].value != CONTROLLER:
        return config
    _note_others(config, ("name", "args"), conversion)
    evictor: dict[str, Tree] = {}
    own: dict[str, Tree] = {}
    for key, child in fields_of(fields.get("args")).items():
        if key in EVICTOR_FIELDS:
            evictor[key] = child
        elif key in ControllerArgs.model_fields:
            own[key] = child
        else:
            conversion.notes.append(note_of(child, conversion.paths, _JOBS))
    _limit(conversion.tree_at(own, config), number, conversion)
    return conversion.tree_at({"name": "DefaultEvictor", "args": evictor}, config)


def _limit(tree: Tree, number: int, conversion: Conversion) -> None:
    made, problems = validate_part(tree, ControllerArgs)
    conversion.problems += problems
    if made is None:
        return
    conversion.notes += notes_on(made, tree, conversion.paths)
    conversion.reports_only |= bool(made.dryRun)
    if made.namespaces is not None:
        conversion.namespaces[number] = made.namespaces
    limits = conversion.limits
    limits.limit("movesPerCycle", made.maxMigratingGlobally)
    limits.limit("movesPerNode", made.maxMigratingPerNode)
    limits.limit("movesPerNamespace", made.maxMigratingPerNamespace)
    most = made.maxMigratingPerWorkload
    number_at_once = most if isinstance(most, int) and most > 0 else None
    limits.limit_workload(number_at_once or _AT_A_TIME)
    if most is not None and number_at_once is None:
        text = "Replacements of a workload that are pending are counted, not a share: 1 at a time."
        place = fields_of(tree)["maxMigratingPerWorkload"]
        conversion.notes.append(note_of(place, conversion.paths, Lost(text)))

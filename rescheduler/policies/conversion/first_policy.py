"""A DeschedulerPolicy of v1alpha1: strategies, rearranged as profiles of v1alpha2.

Source: sigs.k8s.io/descheduler v0.26, pkg/api/v1alpha1/types.go and strategymigration.go.
"""

from rescheduler.documents.strict_yaml import Tree
from rescheduler.policies.conversion.descheduler_policy import convert_policy, fields_of
from rescheduler.policies.conversion.draft import Conversion
from rescheduler.policies.conversion.outcomes import Lost, Same, note_of
from rescheduler.policies.conversion.plugins import PLUGINS

EVICTOR_FIELDS = (
    "evictFailedBarePods",
    "evictLocalStoragePods",
    "evictSystemCriticalPods",
    "evictDaemonSetPods",
    "ignorePvcPods",
)
"""Fields of the policy that are arguments of DefaultEvictor by now."""
EVICTOR_PARAMS = ("nodeFit", "thresholdPriority", "thresholdPriorityClassName")
"""Params of a strategy that are arguments of DefaultEvictor by now."""
_DISABLED = Same("not enabled, so descheduler does not run it either")
_WEIGHT = Lost("Strategies had a weight without effect.", (0,))


def convert_first_policy(tree: Tree, conversion: Conversion) -> None:
    """Add what the policy becomes."""
    fields = dict(fields_of(tree))
    strategies = fields.pop("strategies", None)
    if strategies is None or not isinstance(strategies.value, dict):
        message = "strategies: is required, and is a mapping of strategies by name"
        conversion.complain(strategies or tree, message)
        return
    evictor = {name: fields.pop(name) for name in EVICTOR_FIELDS if name in fields}
    fields["profiles"] = conversion.tree_at(
        [
            _profile(name, strategy, evictor, conversion)
            for name, strategy in strategies.value.items()
            if _is_enabled(strategy, conversion)
        ],
        strategies,
    )
    if not fields["profiles"].value:
        conversion.complain(
            strategies, "strategies: none is enabled, so descheduler does nothing", "enable one"
        )
        return
    keys = {name: tree.keys.get(name, strategies.mark) for name in fields}
    convert_policy(conversion.put_at(Tree(dict(fields), tree.mark, keys), tree), conversion)


def _is_enabled(strategy: Tree, conversion: Conversion) -> bool:
    enabled = fields_of(strategy).get("enabled")
    if enabled is not None and enabled.value is True:
        return True
    if enabled is not None and not isinstance(enabled.value, bool | None):
        conversion.complain(enabled, "enabled: must be true or false")
    conversion.notes.append(note_of(strategy, conversion.paths, _DISABLED))
    return False


def _profile(name: str, strategy: Tree, evictor: dict[str, Tree], conversion: Conversion) -> Tree:
    """The profile that a strategy is by now."""
    fields = fields_of(strategy)
    for key, child in fields.items():
        if key == "weight":
            conversion.notes.append(note_of(child, conversion.paths, _WEIGHT))
        elif key not in ("enabled", "params"):
            outcome = Lost("descheduler does not know this field and ignores it.")
            conversion.notes.append(note_of(child, conversion.paths, outcome))
    arguments, own = _arguments(name, fields.get("params"), conversion)
    point = PLUGINS[name].point if name in PLUGINS else "deschedule"
    configs = [{"name": "DefaultEvictor", "args": {**evictor, **own}}]
    configs.append({"name": name, "args": arguments})
    profile = {"pluginConfig": configs, "plugins": {point: {"enabled": [name]}}}
    return conversion.tree_at(profile, strategy)


def _arguments(
    name: str, params: Tree | None, conversion: Conversion
) -> tuple[dict[str, Tree], dict[str, Tree]]:
    """The arguments of the plugin, and those of DefaultEvictor."""
    arguments: dict[str, Tree] = {}
    own: dict[str, Tree] = {}
    nested = PLUGINS[name].old_params if name in PLUGINS else ()
    for key, child in fields_of(params).items():
        if child.value is None:
            continue
        if key in nested:
            arguments |= fields_of(child)
        elif key == "thresholdPriority":
            own["priorityThreshold"] = conversion.tree_at({"value": child}, child)
        elif key == "thresholdPriorityClassName":
            own["priorityThreshold"] = conversion.tree_at({"name": child}, child)
        elif key in EVICTOR_PARAMS:
            own[key] = child
        elif key == "namespaces" and name.endswith("NodeUtilization"):
            arguments["evictableNamespaces"] = child
        else:
            arguments[key] = child
    return arguments, own

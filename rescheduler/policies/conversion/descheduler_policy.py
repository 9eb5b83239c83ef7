"""A DeschedulerPolicy of v1alpha2, into which the other forms are rearranged."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from rescheduler.documents.fields import Strict
from rescheduler.documents.strict_yaml import Tree
from rescheduler.documents.validation import near, validate_part
from rescheduler.policies.conversion.default_evictor import (
    DefaultEvictorArgs,
    evictable_pods,
    limit_by,
    priority_spec,
    unknown_class,
)
from rescheduler.policies.conversion.draft import Conversion, Draft
from rescheduler.policies.conversion.foreign_fields import (
    ForeignNamespaces,
    parse_selector,
    selector_spec,
)
from rescheduler.policies.conversion.outcomes import FieldNote, Lost, Same, note_of, notes_on
from rescheduler.policies.conversion.plugins import PLUGINS, ForeignPlugin
from rescheduler.policies.conversion.policy_fields import LENIENT, DeschedulerPolicy, ForeignProfile

EVICTOR = "DefaultEvictor"
_POINTS = ("deschedule", "balance", "filter", "preEvictionFilter", "preevictionfilter")

_REFUSED = "take it out, or correct it: descheduler refuses the file as it is"

_NOTHING = Lost("Nothing is made of it: all it says is left out.")
_NO_NAMESPACE = Lost("Nothing is made of it: no namespace is in all lists that must hold for it.")

Model = TypeVar("Model", bound=Strict)


def convert_policy(
    tree: Tree, conversion: Conversion, plugins: Mapping[str, ForeignPlugin] = PLUGINS
) -> None:
    """Add what the policy becomes."""
    part = known_part(tree, DeschedulerPolicy, conversion)
    made, problems = validate_part(part, DeschedulerPolicy)
    conversion.problems += problems
    if made is None:
        return
    conversion.notes += notes_on(made, part, conversion.paths)
    limits = conversion.limits
    limits.limit("movesPerNode", made.maxNoOfPodsToEvictPerNode)
    limits.limit("movesPerNamespace", made.maxNoOfPodsToEvictPerNamespace)
    limits.limit("movesPerCycle", made.maxNoOfPodsToEvictTotal)
    branches = _elements(part, "profiles")
    if not branches:
        hint = "a policy with `strategies` is of apiVersion descheduler/v1alpha1"
        has = "strategies" in fields_of(tree)
        message = "profiles: is required; without them descheduler does nothing"
        conversion.complain(tree, message, hint if has else "")
    for number, (profile, branch) in enumerate(zip(made.profiles or (), branches, strict=True)):
        prefix = f"{slug(profile.name)}-" if profile.name and len(branches) > 1 else ""
        texts = [text for text in (made.nodeSelector, profile.nodeSelector) if text]
        selector = [one for text in texts for one in parse_selector(text)]
        nodes = {"nodes": {"labels": selector_spec(selector)}} if selector else {}
        profile_conversion = _ProfileConversion(conversion, plugins, branch, prefix, nodes)
        profile_conversion.convert(profile, conversion.namespaces.get(number))


def known_part(tree: Tree, model: type[Strict], conversion: Conversion) -> Tree:
    """The tree without what descheduler ignores and without nulls; notes what it ignores."""
    if isinstance(tree.value, list):
        made = Tree([known_part(one, model, conversion) for one in tree.value], tree.mark, {})
    elif isinstance(tree.value, dict):
        values = {}
        for key, child in tree.value.items():
            if key not in model.model_fields:
                hint = near(key, model.model_fields)
                text = "descheduler does not know this field and ignores it."
                outcome = Lost(f"{text} Maybe {hint} is meant." if hint else text)
                conversion.notes.append(note_of(child, conversion.paths, outcome))
            elif child.value is not None:
                inner = LENIENT.get(model, {}).get(key)
                values[key] = known_part(child, inner, conversion) if inner else child
        made = Tree(values, tree.mark, {key: tree.keys[key] for key in values})
    else:
        return tree
    return conversion.put_at(made, tree)


def fields_of(tree: Tree | None) -> dict[str, Tree]:
    """The fields of a mapping; none of anything else."""
    return tree.value if tree is not None and isinstance(tree.value, dict) else {}


def _elements(tree: Tree | None, name: str) -> list[Tree]:
    branch = fields_of(tree).get(name)
    return branch.value if branch is not None and isinstance(branch.value, list) else []


def slug(name: str) -> str:
    """A name as our policies have it."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60] or "profile"


def _without_nulls(tree: Tree) -> Tree:
    """The tree without fields that are null, which Kubernetes takes for not given."""
    if isinstance(tree.value, dict):
        for key in [key for key, child in tree.value.items() if child.value is None]:
            del tree.value[key]
        for child in tree.value.values():
            _without_nulls(child)
    for child in tree.value if isinstance(tree.value, list) else ():
        _without_nulls(child)
    return tree


class _ProfileConversion:
    """What one profile becomes. prefix: of its policies' names. nodes: of their specs."""

    def __init__(
        self,
        conversion: Conversion,
        plugins: Mapping[str, ForeignPlugin],
        branch: Tree,
        prefix: str,
        nodes: dict[str, Any],
    ) -> None:
        self._conversion = conversion
        self._plugins = plugins
        self._branch = branch
        self._prefix = prefix
        self._nodes = nodes
        self._configs: dict[str, Tree] = {}
        self._unknown: set[str] = set()

    def convert(self, profile: ForeignProfile, namespaces: ForeignNamespaces | None) -> None:
        """Add a policy for each plugin that is enabled. namespaces: those of all of them."""
        configs = _elements(self._branch, "pluginConfig")
        for config, tree in zip(profile.pluginConfig or (), configs, strict=True):
            if config.name in self._configs:
                message = f"pluginConfig: `{config.name}` is configured twice"
                self._conversion.complain(tree, message, "drop one")
            elif config.name == EVICTOR or self._plugin(config.name, tree) is not None:
                self._configs[config.name] = tree
        evictor, notes = self._read(EVICTOR, DefaultEvictorArgs)
        enabled = self._enabled_plugins()
        for name, tree in self._configs.items():
            if name not in enabled and name != EVICTOR:
                self._note(tree, Same("not enabled, so descheduler does not run it either"))
        if evictor is None:
            return
        notes += self._priority_notes(evictor)
        self._conversion.notes += notes
        if enabled:
            limit_by(evictor, self._conversion.limits)
        for name, tree in enabled.items():
            draft = self._draft(name, tree, evictor)
            draft.reports_only = any(note.restricts for note in notes)
            draft.selection.add_namespaces(namespaces)
            self._convert_plugin(draft)

    def _draft(self, name: str, tree: Tree, evictor: DefaultEvictorArgs) -> Draft:
        plugin, every = self._plugins[name], self._conversion.every
        return Draft(
            plugin.kind,
            f"{self._prefix}{plugin.name}",
            name,
            self._configs.get(name, tree),
            {**self._nodes, **priority_spec(evictor)},
            evictable_pods(evictor),
            every=every.total_seconds() if every is not None else None,
        )

    def _convert_plugin(self, draft: Draft) -> None:
        plugin = self._plugins[draft.plugin]
        arguments, draft.notes = self._read(draft.plugin, plugin.arguments)
        if arguments is None:
            return
        for names in ("namespaces", "evictableNamespaces"):
            draft.selection.add_namespaces(getattr(arguments, names, None))
        draft.selection.add_labels(getattr(arguments, "labelSelector", None))
        kinds = getattr(arguments, "ownerKinds", None)
        draft.selection.add_owners(
            kinds.include if kinds else None,
            kinds.exclude if kinds else getattr(arguments, "excludeOwnerKinds", None),
        )
        limits = getattr(arguments, "evictionLimits", None)
        self._conversion.limits.limit("movesPerNode", limits.node if limits else None)
        try:
            made = [] if draft.selection.namespaces == [] else list(plugin.build(arguments, draft))
            for one in made:
                self._conversion.add(one)
        except ValueError:  # of the selector that both are together
            message = f"{draft.plugin}: no pod has the labels that it and {EVICTOR} ask for"
            self._conversion.complain(draft.origin, message, "correct one labelSelector")
            return
        if not made:
            self._conversion.notes += draft.notes
            self._note(
                draft.origin, _NOTHING if draft.selection.namespaces != [] else _NO_NAMESPACE
            )

    def _enabled_plugins(self) -> dict[str, Tree]:
        """The plugins that run, each with the place where it is enabled."""
        enabled: dict[str, Tree] = {}
        points = fields_of(fields_of(self._branch).get("plugins"))
        for point in _POINTS:
            for tree in _elements(points.get(point), "enabled"):
                name = str(tree.value)
                plugin = None if name == EVICTOR else self._plugin(name, tree)
                if plugin is None or name in enabled:
                    continue
                enabled[name] = tree
                if plugin.point != point:
                    text = f"descheduler has it at `{plugin.point}`; it is converted all the same."
                    self._note(tree, Lost(text))
        return enabled

    def _plugin(self, name: str, tree: Tree) -> ForeignPlugin | None:
        plugin = self._plugins.get(name)
        if plugin is None:
            names = [*self._plugins, EVICTOR]
            message = f"`{name[:60]}` is no plugin that is known, so it cannot be converted"
            advice = f"take it out of a copy of the file; known are {', '.join(names)}"
            if name not in self._unknown:
                self._conversion.complain(tree, message, near(name, names) or advice)
            self._unknown.add(name)
        return plugin

    def _read(self, name: str, model: type[Model]) -> tuple[Model | None, list[FieldNote]]:
        """The arguments of a plugin, None where they cannot be used, and what is noted of them."""
        config = self._configs.get(name, self._branch)
        tree = fields_of(config).get("args") if name in self._configs else None
        tree = _without_nulls(tree) if tree is not None else Tree({}, config.mark, {})
        made, problems = validate_part(tree, model)
        self._conversion.problems += [
            replace(problem, message=f"{name}: {problem.message}", hint=problem.hint or _REFUSED)
            for problem in problems
        ]
        return made, [] if made is None else list(notes_on(made, tree, self._conversion.paths))

    def _note(self, tree: Tree, outcome: Same | Lost) -> None:
        self._conversion.notes.append(note_of(tree, self._conversion.paths, outcome))

    def _priority_notes(self, evictor: DefaultEvictorArgs) -> Iterator[FieldNote]:
        name = unknown_class(evictor)
        if name:
            tree = fields_of(fields_of(self._configs[EVICTOR])["args"])["priorityThreshold"]
            text = (
                f"The value of PriorityClass {name} is in the cluster alone. Write it, less 1, as "
                "`maxPriority` of each policy, and take `mode: Audit` away."
            )
            yield note_of(tree, self._conversion.paths, Lost(text, restricts=True))

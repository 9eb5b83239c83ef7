"""Policies and Limits while they are made from a foreign document."""

import copy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from rescheduler.documents.envelope import API_VERSION
from rescheduler.documents.file_problems import FileProblem
from rescheduler.documents.label_selector import Requirement
from rescheduler.documents.strict_yaml import Tree
from rescheduler.model.errors import PolicyError
from rescheduler.policies.conversion.foreign_fields import (
    ForeignNamespaces,
    ForeignSelector,
    selector_spec,
)
from rescheduler.policies.conversion.outcomes import FieldNote, FieldPlace, Paths, value_text
from rescheduler.policies.files.policy_set import policy_from_document

_EVALUATING_NODES = ("Allocation", "Utilization")
"""Kinds that need `nodes`."""


@dataclass
class MatchDraft:
    """Which pods a policy selects; all that is added must hold."""

    namespaces: list[str] | None = None
    in_namespaces: list[Requirement] = field(default_factory=list)
    labels: list[Requirement] = field(default_factory=list)
    excludes: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, Any] = field(default_factory=dict)

    def add_namespaces(self, names: ForeignNamespaces | None) -> None:
        """Only pods in these namespaces, or in no other than those.

        Of two lists those remain that are in both, which may be none.
        """
        if names is not None:
            if names.include:
                before = names.include if self.namespaces is None else self.namespaces
                self.namespaces = [name for name in before if name in names.include]
            self.excludes += [{"namespaces": names.exclude}] if names.exclude else []

    def add_owners(self, include: list[str] | None, exclude: list[str] | None) -> None:
        """Only pods that these kinds run, or no other than those."""
        self.others |= {"ownerKinds": include} if include else {}
        self.excludes += [{"ownerKinds": exclude}] if exclude else []

    def add_labels(self, selector: ForeignSelector | None) -> None:
        """Only pods with these labels."""
        self.labels += selector.requirements if selector is not None else []

    def spec(self) -> dict[str, Any]:
        """The `match` of a policy."""
        spec: dict[str, Any] = {"namespaces": self.namespaces} if self.namespaces else {}
        if self.in_namespaces:
            spec["namespaceSelector"] = selector_spec(self.in_namespaces)
        if self.labels:
            spec["labels"] = selector_spec(self.labels)
        spec = spec | self.others or {"all": True}
        excludes = [exclude for number, exclude in enumerate(self.excludes)
                    if exclude not in self.excludes[:number]]  # fmt: skip
        if excludes:
            spec["exclude"] = excludes if len(excludes) > 1 else excludes[0]
        return spec


@dataclass
class Draft:
    """One policy. origin: where it comes from, for its comment. plugin: what it comes from."""

    kind: str
    name: str
    plugin: str
    origin: Tree
    spec: dict[str, Any] = field(default_factory=dict)
    selection: MatchDraft = field(default_factory=MatchDraft)
    notes: list[FieldNote] = field(default_factory=list)
    reports_only: bool = False
    every: float | None = None
    """Seconds between two cycles there, where that is said."""

    def variant(self, suffix: str, kind: str, **spec: Any) -> "Draft":
        """Another policy of the same plugin. suffix: of its name."""
        return replace(
            self,
            kind=kind,
            name=f"{self.name}{suffix}",
            spec=self.spec | spec,
            selection=copy.deepcopy(self.selection),
            notes=list(self.notes),
        )

    def remark(self, text: str) -> None:
        """Say something of the plugin as a whole."""
        self.notes.append(FieldNote(self.origin.mark.line, self.plugin, "", text))

    def document(self) -> dict[str, Any]:
        """The document of the policy."""
        nodes = {"nodes": self.spec["nodes"]} if "nodes" in self.spec else {}
        spec = {"match": self.selection.spec(), **nodes, **self.spec}
        if self.reports_only or any(note.restricts for note in self.notes):
            spec = {"mode": "Audit", **spec}
        metadata = {"name": self.name}
        return {"apiVersion": API_VERSION, "kind": self.kind, "metadata": metadata, "spec": spec}


@dataclass
class LimitsDraft:
    """The Limits that hold for all policies together: of two values the stricter one."""

    moves: dict[str, int] = field(default_factory=dict)
    at_least: dict[str, int | timedelta] = field(default_factory=dict)
    local_storage: list[bool] = field(default_factory=list)
    others: dict[str, Any] = field(default_factory=dict)

    def limit(self, name: str, most: int | None) -> None:
        """At most so many moves."""
        if most is not None:
            self.moves[name] = min(most, self.moves.get(name, most))

    def limit_workload(self, most: int) -> None:
        """At most so many replacements of a workload at a time."""
        name = "inFlightPerWorkload"
        self.others[name] = min(most, self.others.get(name, most))

    def require(self, name: str, least: Any) -> None:
        """At least so many, or so long."""
        if least is not None:
            self.at_least[name] = max(least, self.at_least.get(name, least))


@dataclass
class Conversion:
    """What a foreign file becomes.

    every: how often it runs there, where that is said. namespaces: those of all plugins of a
    profile, by its number. restricted: what is around the policy may keep pods from being evicted.
    """

    paths: Paths
    drafts: list[Draft] = field(default_factory=list)
    limits: LimitsDraft = field(default_factory=LimitsDraft)
    notes: list[FieldNote] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)
    every: timedelta | None = None
    namespaces: dict[int, ForeignNamespaces] = field(default_factory=dict)
    reports_only: bool = False
    restricted: bool = False
    _kept: list[Tree] = field(default_factory=list)
    """Trees whose identity is in the paths: one that is gone could be another's."""

    def complain(self, tree: Tree, message: str, hint: str = "") -> None:
        """Something of the file cannot be converted."""
        self.problems.append(FileProblem(tree.mark, message, hint))

    def put_at(self, made: Tree, cause: Tree) -> Tree:
        """A tree that stands for another one of the file, whose place it has."""
        self.paths[id(made)] = self.paths.get(id(cause), FieldPlace())
        self._kept.append(made)
        return made

    def tree_at(self, value: Any, cause: Tree) -> Tree:
        """A tree that the file does not have, at the place of what it follows from."""
        if isinstance(value, Tree):
            return value
        if isinstance(value, dict):
            branches = {key: self.tree_at(child, cause) for key, child in value.items()}
            marks = {key: branch.mark for key, branch in branches.items()}
            made = Tree(branches, cause.mark, marks)
        elif isinstance(value, list):
            made = Tree([self.tree_at(child, cause) for child in value], cause.mark, {})
        else:
            made = Tree(value, cause.mark, {})
        self.put_at(made, cause)
        path, shown = self.paths[id(made)]
        self.paths[id(made)] = FieldPlace(path, shown or value_text(cause))
        return made

    def add(self, draft: Draft) -> None:
        """Keep a policy; a second one of its name gets a number."""
        names = {other.name for other in self.drafts}
        name, number = draft.name, 2
        while draft.name in names:
            draft.name, number = f"{name}-{number}", number + 1
        if draft.kind in _EVALUATING_NODES:
            draft.spec.setdefault("nodes", {"all": True})
        draft.reports_only |= self.reports_only or self.restricted
        try:
            made = policy_from_document(draft.document())
        except PolicyError as error:
            self.complain(draft.origin, f"{draft.plugin}: as a policy here: {error.sentence}")
            return
        for text in made.unreachable():
            draft.remark(f"In this policy {text}.")
        self.drafts.append(draft)

    def all_notes(self) -> list[FieldNote]:
        """Everything that comments say, each once."""
        held = [self.notes, *(draft.notes for draft in self.drafts)]
        return list(dict.fromkeys(note for notes in held for note in notes))

"""The bound pods grouped by namespace and labels, so that a selector is matched once per group."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.objects import Labels, LabelSelector, Pod

_NOBODY = np.zeros(0, dtype=np.int32)
_NEGATIVE = {"In": False, "Exists": False, "NotIn": True, "DoesNotExist": True}
"""The operators of label selectors."""


class LabelGroups:
    """Finds the pods that a selector selects. Answers are shared: do not write into them.

    Which pods match never changes while pods move, so an answer is kept for good.
    """

    def __init__(self, pods: Sequence[Pod], placed: IntArray) -> None:
        """Group the pods.

        placed: the indices of the pods to know of.
        """
        self._labels: list[Labels] = []
        self._by_namespace: dict[str, list[int]] = {}
        self._places: dict[str | None, _Place] = {}
        self._answers: dict[bytes, IntArray] = {}
        self._pods_of: dict[bytes, IntArray] = {}
        of_pod = self._number(pods, placed)
        order = np.argsort(of_pod, kind="stable")
        self._members = placed[order]
        self._bounds = np.searchsorted(of_pod[order], np.arange(len(self._labels) + 1))

    def _number(self, pods: Sequence[Pod], placed: IntArray) -> IntArray:
        by_identity: dict[tuple[str, int], int] = {}
        by_content: dict[tuple[str, frozenset[tuple[str, str]]], int] = {}
        of_pod = np.empty(len(placed), dtype=np.int32)
        for position, pod in enumerate(placed.tolist()):
            metadata = pods[pod].metadata
            identity = (metadata.namespace, id(metadata.labels))
            group = by_identity.get(identity)
            if group is None:
                labels = metadata.labels or {}
                content = (metadata.namespace, frozenset(labels.items()))
                group = by_content.get(content)
                if group is None:
                    group = by_content[content] = len(self._labels)
                    self._labels.append(labels)
                    self._by_namespace.setdefault(metadata.namespace, []).append(group)
                by_identity[identity] = group
            of_pod[position] = group
        return of_pod

    def select(self, selector: LabelSelector | None, namespaces: frozenset[str] | None) -> IntArray:
        """The pods in those namespaces (None: all) that the selector selects, as indices.

        Selectors that select the same pods of one namespace, or of all, have the same array.
        """
        if selector is None:
            return _NOBODY
        places = None if namespaces is None else sorted(namespaces)
        key = msgspec.msgpack.encode((places, selector))
        pods = self._answers.get(key)
        if pods is None:
            parts = [
                self._pods_in(self._place(place).groups_of_selector(selector))
                for place in ([None] if places is None else places)
            ]
            pods = parts[0] if len(parts) == 1 else np.concatenate([_NOBODY, *parts])
            self._answers[key] = pods
        return pods

    def _place(self, namespace: str | None) -> "_Place":
        place = self._places.get(namespace)
        if place is None:
            every = range(len(self._labels))
            groups = every if namespace is None else self._by_namespace.get(namespace, ())
            place = self._places[namespace] = _Place(groups, self._labels)
        return place

    def _pods_in(self, groups: IntArray) -> IntArray:
        key = groups.tobytes()
        pods = self._pods_of.get(key)
        if pods is None:
            bounds = zip(self._bounds[groups], self._bounds[groups + 1], strict=True)
            members = [self._members[first:end] for first, end in bounds]
            pods = self._pods_of[key] = np.concatenate(members) if members else _NOBODY
        return pods


class _LabelRequirement(NamedTuple):
    """A requirement. values: the label has one of them; None for any. negative: or has not."""

    key: str
    values: frozenset[str] | None
    negative: bool

    def holds(self, labels: Labels) -> bool:
        """Whether labels satisfy it."""
        value = labels.get(self.key)
        has_value = value is not None and (self.values is None or value in self.values)
        return has_value is not self.negative


class _Place:
    """The groups of one namespace, or of all, by their labels.

    To find what a selector selects costs what the groups with its labels and the values that it
    names add up to, not the one times the other.
    """

    def __init__(self, groups: Sequence[int], labels: Sequence[Labels]) -> None:
        self._groups = np.array(groups, dtype=np.int32)
        self._labels = labels
        self._by_label: dict[str, dict[str, list[int]]] = {}
        for group in groups:
            for key, value in labels[group].items():
                self._by_label.setdefault(key, {}).setdefault(value, []).append(group)

    def groups_of_selector(self, selector: LabelSelector) -> IntArray:
        """The groups that the selector selects; by an operator that labels do not have, none."""
        pairs = (selector.matchLabels or {}).items()
        requirements = [
            _LabelRequirement(key, frozenset({value}), negative=False) for key, value in pairs
        ]
        for expression in selector.matchExpressions or ():
            if expression.operator not in _NEGATIVE:
                return _NOBODY
            values = (
                frozenset(expression.values or ())
                if expression.operator in ("In", "NotIn")
                else None
            )
            requirements.append(
                _LabelRequirement(expression.key, values, negative=_NEGATIVE[expression.operator])
            )
        listed = [
            self._groups_with_label(requirement)
            for requirement in requirements
            if not requirement.negative
        ]
        if listed:
            fewest = itertools.chain(*min(listed, key=lambda lists: sum(map(len, lists))))
            labels = self._labels
            chosen = [
                group
                for group in fewest
                if all(requirement.holds(labels[group]) for requirement in requirements)
            ]
            return np.array(sorted(chosen), dtype=np.int32)
        without = [
            group
            for requirement in requirements
            for group in itertools.chain(*self._groups_with_label(requirement))
        ]
        return (
            self._groups[np.isin(self._groups, without, invert=True)] if without else self._groups
        )

    def _groups_with_label(self, requirement: _LabelRequirement) -> list[list[int]]:
        """The groups that have the label, with one of the values where it is about values."""
        by_value = self._by_label.get(requirement.key, {})
        if requirement.values is None:
            return list(by_value.values())
        return [by_value[value] for value in by_value.keys() & requirement.values]

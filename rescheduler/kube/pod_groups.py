"""The bound pods, grouped by namespace and labels, so that a selector is matched once per group."""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.objects import Labels, LabelSelector, Pod
from rescheduler.kube.selectors import matches

_NOBODY = np.zeros(0, dtype=np.int32)


class PodGroups:
    """Finds the pods that a selector selects. Answers are shared: do not write into them.

    Which pods match never changes while pods move, so an answer is kept for good.
    """

    def __init__(self, pods: Sequence[Pod], placed: IntArray) -> None:
        """Group the pods.

        placed: the indices of the pods to know of.
        """
        self._labels: list[Labels] = []
        self._by_namespace: dict[str, list[int]] = {}
        self._postings: dict[str, dict[tuple[str, str], list[int]]] = {}
        self._answers: dict[bytes, IntArray] = {}
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
        """The pods in those namespaces (None: all) that the selector selects, as indices."""
        if selector is None:
            return _NOBODY
        places = None if namespaces is None else sorted(namespaces)
        key = msgspec.msgpack.encode((places, selector))
        known = self._answers.get(key)
        if known is None:
            found = [
                self._members[self._bounds[group] : self._bounds[group + 1]]
                for namespace in (self._by_namespace if places is None else places)
                for group in self._candidates(namespace, selector)
                if matches(selector, self._labels[group])
            ]
            known = self._answers[key] = np.concatenate(found) if found else _NOBODY
        return known

    def _candidates(self, namespace: str, selector: LabelSelector) -> Iterable[int]:
        """The groups of the namespace that may match: those with the rarest label asked for."""
        groups = self._by_namespace.get(namespace, [])
        if len(groups) < 8 or not selector.matchLabels:
            return groups
        postings = self._postings.get(namespace)
        if postings is None:
            postings = self._postings[namespace] = {}
            for group in groups:
                for pair in self._labels[group].items():
                    postings.setdefault(pair, []).append(group)
        asked = (postings.get(pair, []) for pair in selector.matchLabels.items())
        return min(asked, key=len)

"""Whom the inter-pod terms of pods are about, and which of those may be moved for their sake."""

from collections import Counter

import numpy as np

from rescheduler.kube.objects import PodAffinityTerm
from rescheduler.kube.pods.affinity_terms import term_namespaces
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot

MOST_TERMS = 100
"""About each pod of a namespace, on average, by the different terms of its pods."""


class OwnPartners:
    """The pods that terms select. Those in the namespace of a term are its own.

    A pod of another namespace is never moved for a term, as its owner did not request that.
    overfull: namespaces with more terms about their pods than are followed, with the numbers.
    found: the different sets of pods, by number, each in ascending order.
    """

    def __init__(self, snapshot: Snapshot, everyone: IntArray) -> None:
        """everyone: the pods that terms may be about."""
        self._snapshot = snapshot
        self._groups = LabelGroups(snapshot.pods, everyone)
        self._numbers: dict[tuple[int, ...], int] = {}
        self._kept: list[IntArray] = []  # as long as these are alive, an id stands for one
        self.found: list[IntArray] = []
        names: dict[str, int] = {}
        of_template = np.array(
            [
                names.setdefault(snapshot.pods[pod].metadata.namespace, len(names))
                for pod in snapshot.pod_template[0].tolist()
            ],
            dtype=np.int32,
        )
        self._names = names
        self._namespace = of_template[snapshot.pod_template[1]]
        self._pods = np.bincount(self._namespace[everyone], minlength=len(names))
        self._pairs: Counter[str] = Counter()
        self._told: set[tuple[str, str, int]] = set()

    def count(self, namespace: str, *terms: PodAffinityTerm) -> int:
        """The number of the set of pods that all these terms of that namespace select."""
        labels = self._snapshot.namespace_labels
        selected = [
            self._groups.select(term.labelSelector, term_namespaces(term, namespace, labels))
            for term in terms
        ]
        number = self._numbers.get(tuple(map(id, selected)))
        if number is None:
            pods = selected[0]
            for array in selected[1:]:
                pods = np.intersect1d(pods, array)
            number = self._numbers[tuple(map(id, selected))] = len(self.found)
            self._kept += selected
            self.found.append(np.sort(pods).astype(np.int32))
        pair_key = (namespace, " ".join(term.topologyKey for term in terms), number)
        if pair_key not in self._told:
            self._told.add(pair_key)
            self._pairs[namespace] += int(self.is_own(namespace, self.found[number]).sum())
        return number

    def is_own(self, namespace: str, pods: IntArray) -> BoolArray:
        """(k,) whether each of these pods is in that namespace."""
        answer: BoolArray = self._namespace[pods] == self._names[namespace]
        return answer

    @property
    def overfull(self) -> dict[str, str]:
        """Those namespaces, with the numbers in words."""
        return {
            name: f"namespace {name} ({pairs:,} times a term is about one of "
            f"{self._pods[self._names[name]]:,} pods, at most {MOST_TERMS} a pod are followed)"
            for name, pairs in self._pairs.items()
            if pairs > MOST_TERMS * self._pods[self._names[name]]
        }

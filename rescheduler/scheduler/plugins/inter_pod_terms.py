"""The affinity terms of the bound pods, so that a newcomer finds those that are about it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from rescheduler.kube.affinity_terms import listed_namespaces
from rescheduler.kube.objects import Affinity, Labels, LabelSelector, Pod, PodAffinityTerm
from rescheduler.kube.selectors import matches
from rescheduler.model.readings import IntArray
from rescheduler.scheduler.plugin import Replacement

Kind = Literal["affinity", "anti", "soft"]


class AffinityTerm(NamedTuple):
    """A term with what it weighs: below zero for preferred anti-affinity."""

    kind: Kind
    weight: int
    term: PodAffinityTerm


@dataclass(frozen=True, slots=True, eq=False)
class HeldTerm:
    """A term that bound pods have, with its namespaces kept apart from its namespace selector."""

    kind: Kind
    weight: int
    key: str
    selector: LabelSelector | None
    namespace_selector: LabelSelector | None
    pods: IntArray


def affinity_terms(affinity: Affinity | None) -> Iterator[AffinityTerm]:
    """All inter-pod terms of a pod."""
    if affinity is None:
        return
    for kind, weight, part in (
        ("affinity", 1, affinity.podAffinity),
        ("anti", -1, affinity.podAntiAffinity),
    ):
        if part is None:
            continue
        for term in part.requiredDuringSchedulingIgnoredDuringExecution or ():
            yield AffinityTerm("affinity" if kind == "affinity" else "anti", 1, term)
        for each in part.preferredDuringSchedulingIgnoredDuringExecution or ():
            yield AffinityTerm("soft", weight * each.weight, each.podAffinityTerm)


class TermIndex:
    """The distinct terms of the bound pods; pods of equal terms share one entry."""

    def __init__(
        self, pods: Sequence[Pod], placed: IntArray, namespaces: Mapping[str, Labels]
    ) -> None:
        self._namespaces = namespaces
        self._by_namespace: dict[str, list[HeldTerm]] = {}
        self._anywhere: list[HeldTerm] = []
        holders: dict[bytes, list[int]] = {}
        terms: dict[bytes, tuple[AffinityTerm, frozenset[str]]] = {}
        by_spec: dict[tuple[int, str], list[bytes]] = {}
        for number in placed.tolist():
            pod = pods[number]
            if pod.spec.affinity is None:
                continue
            own = pod.metadata.namespace
            keys = by_spec.get((id(pod.spec), own))
            if keys is None:
                keys = by_spec[id(pod.spec), own] = []
                for wanted in affinity_terms(pod.spec.affinity):
                    named = listed_namespaces(wanted.term, own)
                    key = msgspec.msgpack.encode((sorted(named), *wanted))
                    terms.setdefault(key, (wanted, named))
                    keys.append(key)
            for key in keys:
                holders.setdefault(key, []).append(number)
        for key, (wanted, named) in terms.items():
            self._add(wanted, named, np.array(holders[key], dtype=np.int32))

    def _add(self, wanted: AffinityTerm, named: frozenset[str], pods: IntArray) -> None:
        term = wanted.term
        held = HeldTerm(
            kind=wanted.kind,
            weight=wanted.weight,
            key=term.topologyKey,
            selector=term.labelSelector,
            namespace_selector=term.namespaceSelector,
            pods=pods,
        )
        for name in named:
            self._by_namespace.setdefault(name, []).append(held)
        if term.namespaceSelector is not None:
            self._anywhere.append(held)

    def about(self, pod: Replacement) -> list[HeldTerm]:
        """The terms of bound pods that this newcomer matches."""
        named = self._by_namespace.get(pod.namespace, [])
        labels = self._namespaces.get(pod.namespace, {})
        known = {id(each) for each in named}
        chosen = [
            each
            for each in self._anywhere
            if id(each) not in known and matches(each.namespace_selector, labels)
        ]
        return [each for each in (*named, *chosen) if matches(each.selector, pod.labels)]

"""Plugin InterPodAffinity: pods that want to be near, or far from, other pods."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Literal, NamedTuple, Self

import msgspec
import numpy as np

from rescheduler.kube.nodes.node_labels import LabelColumn, NodeLabels
from rescheduler.kube.objects import Affinity, Labels, LabelSelector, Pod, PodAffinityTerm
from rescheduler.kube.pods.affinity_terms import is_about, listed_namespaces, term_namespaces
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.kube.selectors import matches
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import ByRange
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import STAMPED, Filter, Plugin, Replacement, Score
from rescheduler.scheduler.profile import Profile

Kind = Literal["affinity", "anti", "soft"]

_encode = msgspec.msgpack.Encoder().encode


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


class _Held(NamedTuple):
    """The terms by the namespaces that they name, and those that select namespaces."""

    by_namespace: dict[str, list[HeldTerm]]
    anywhere: list[HeldTerm]

    def add(self, wanted: AffinityTerm, named: frozenset[str], pods: IntArray) -> None:
        """Hold a term of these pods."""
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
            self.by_namespace.setdefault(name, []).append(held)
        if term.namespaceSelector is not None:
            self.anywhere.append(held)


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
        for weighted_term in part.preferredDuringSchedulingIgnoredDuringExecution or ():
            yield AffinityTerm("soft", weight * weighted_term.weight, weighted_term.podAffinityTerm)


class TermIndex:
    """The distinct terms of the bound pods; pods of terms that come to the same share one entry.

    Terms come to the same that differ only in how they select the same pods: a tenant may write
    some hundred thousand of them. Those of a topology that no node has come to nothing.
    No move changes them, so they are read when somebody first asks.
    """

    def __init__(
        self,
        pods: Sequence[Pod],
        placed: IntArray,
        namespaces: Mapping[str, Labels],
        groups: LabelGroups,
        nodes: NodeLabels,
    ) -> None:
        self._pods, self._placed, self._namespaces = pods, placed, namespaces
        self._groups, self._nodes = groups, nodes

    def matching_terms(self, pod: Replacement) -> list[HeldTerm]:
        """The terms of bound pods that this newcomer matches."""
        named = self._held.by_namespace.get(pod.namespace, [])
        labels = self._namespaces.get(pod.namespace, {})
        named_ids = {id(term) for term in named}
        chosen = [
            term
            for term in self._held.anywhere
            if id(term) not in named_ids and matches(term.namespace_selector, labels)
        ]
        return [term for term in (*named, *chosen) if matches(term.selector, pod.labels)]

    @cached_property
    def _held(self) -> _Held:
        holders: dict[bytes, list[int]] = {}
        terms: dict[bytes, tuple[AffinityTerm, frozenset[str]]] = {}
        by_spec: dict[tuple[int, str], list[bytes]] = {}
        by_content: dict[tuple[bytes, str], list[bytes]] = {}
        for number in self._placed.tolist():
            pod = self._pods[number]
            if pod.spec.affinity is None:
                continue
            own = pod.metadata.namespace
            keys = by_spec.get((id(pod.spec), own))
            if keys is None:
                content = (_encode(pod.spec.affinity), own)
                keys = by_content.get(content)
                if keys is None:
                    keys = by_content[content] = []
                    for wanted in affinity_terms(pod.spec.affinity):
                        if not self._nodes.column(wanted.term.topologyKey).values:
                            continue
                        named = listed_namespaces(wanted.term, own)
                        key = self._key(wanted, named)
                        terms.setdefault(key, (wanted, named))
                        keys.append(key)
                by_spec[id(pod.spec), own] = keys
            for key in keys:
                holders.setdefault(key, []).append(number)
        held = _Held({}, [])
        for key, (wanted, named) in terms.items():
            held.add(wanted, named, np.array(holders[key], dtype=np.int32))
        return held

    def _key(self, wanted: AffinityTerm, named: frozenset[str]) -> bytes:
        """What is equal where the terms come to the same.

        A replacement has the labels of the pod but for those that its binding has stamped, so that
        terms about these are kept as they are.
        """
        kind, weight, term = wanted
        selector = term.labelSelector or LabelSelector()
        about = {expression.key for expression in selector.matchExpressions or ()} | {
            *(selector.matchLabels or ())
        }
        selected: object = id(self._groups.select(term.labelSelector, None))
        if not about.isdisjoint(STAMPED):
            selected = selector
        return _encode(
            (kind, weight, term.topologyKey, sorted(named), term.namespaceSelector, selected)
        )


@dataclass(frozen=True, slots=True, eq=False)
class AffinityRules:
    """The required terms around a newcomer, as domains and the pods that matter in them.

    affinity: the columns of its own required terms; `near` are the pods that match all of them.
    first: whether it matches its own terms, so that it may be the first of its kind.
    anti: its own required anti-affinity, and `repelling` that of bound pods about it.
    """

    affinity: list[LabelColumn]
    near: IntArray
    first: bool
    anti: list[tuple[LabelColumn, IntArray]]
    repelling: list[tuple[LabelColumn, IntArray]]


class InterPodAffinity(Plugin):
    """Counts pods from where they are now; terminating pods still count.

    Source: pkg/scheduler/framework/plugins/interpodaffinity.
    """

    name: ClassVar[str] = "InterPodAffinity"
    weight: ClassVar[int] = 2

    def __init__(
        self,
        labels: NodeLabels,
        groups: LabelGroups,
        occupancy: Occupancy,
        terms: TermIndex,
        namespaces: Mapping[str, Labels],
        profile: Profile,
    ) -> None:
        self._labels = labels
        self._groups = groups
        self._occupancy = occupancy
        self._terms = terms
        self._namespaces = namespaces
        self._profile = profile

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """With the arguments of the profile; the terms of all pods are read once."""
        return cls(
            handle.labels,
            handle.groups,
            handle.occupancy,
            handle.part(_terms),
            handle.snapshot.namespace_labels,
            profile,
        )

    def filter(self, pod: Replacement) -> Filter | None:
        """Nodes that satisfy the pod's required terms and repel it by no bound pod's."""
        rules = self._rules(pod)
        return None if rules is None else partial(self._allowed_nodes, rules)

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """Its own affinity, its own anti-affinity, or that of bound pods: the first that fails."""
        rules = self._rules(pod)
        if rules is None:
            return {}
        near = ~self._allowed_nodes(replace(rules, anti=[], repelling=[]))
        anti = ~self._allowed_nodes(replace(rules, affinity=[], repelling=[])) & ~near
        return {
            "node(s) didn't match pod affinity rules": near,
            "node(s) didn't match pod anti-affinity rules": anti,
            "node(s) didn't satisfy existing pods anti-affinity rules": ~(near | anti)
            & ~self._allowed_nodes(replace(rules, affinity=[], anti=[])),
        }

    def _rules(self, pod: Replacement) -> AffinityRules | None:
        own = list(affinity_terms(pod.spec.affinity))
        near = [term.term for term in own if term.kind == "affinity"]
        anti = [term.term for term in own if term.kind == "anti"]
        repelling = [term for term in self._terms.matching_terms(pod) if term.kind == "anti"]
        if not near and not anti and not repelling:
            return None
        return AffinityRules(
            affinity=[self._labels.column(term.topologyKey) for term in near],
            near=self._matching_all(near, pod),
            first=all(self._matches_itself(term, pod) for term in near),
            anti=[
                (self._labels.column(term.topologyKey), self._pods_of_term(term, pod))
                for term in anti
            ],
            repelling=self._by_key((term.key, term.pods) for term in repelling),
        )

    def score(self, pod: Replacement) -> Score | None:
        """More weight of liked pods, and of pods that like this one, is better."""
        weighted_pods: dict[tuple[str, int], list[IntArray]] = defaultdict(list)
        for wanted in affinity_terms(pod.spec.affinity):
            if wanted.kind == "soft":
                pods = self._pods_of_term(wanted.term, pod)
                weighted_pods[wanted.term.topologyKey, wanted.weight].append(pods)
        if self._profile.ignore_preferred_terms and not weighted_pods:
            return None
        hard = self._profile.hard_pod_affinity_weight
        for held in self._terms.matching_terms(pod):
            if held.kind == "soft":
                weighted_pods[held.key, held.weight].append(held.pods)
            elif held.kind == "affinity" and hard > 0:
                weighted_pods[held.key, hard].append(held.pods)
        compiled = [
            (self._labels.column(key), weight, np.concatenate(pods))
            for (key, weight), pods in weighted_pods.items()
            if any(len(array) for array in pods)
        ]
        return partial(self._score, compiled) if compiled else None

    def _pods_of_term(self, term: PodAffinityTerm, pod: Replacement) -> IntArray:
        places = term_namespaces(term, pod.namespace, self._namespaces)
        return self._groups.select(term.labelSelector, places)

    def _matching_all(self, terms: list[PodAffinityTerm], pod: Replacement) -> IntArray:
        answer: IntArray | None = None
        for term in terms:
            pods = self._pods_of_term(term, pod)
            answer = pods if answer is None else np.intersect1d(answer, pods, assume_unique=True)
        return np.zeros(0, dtype=np.int32) if answer is None else answer

    def _matches_itself(self, term: PodAffinityTerm, pod: Replacement) -> bool:
        near = is_about(term, pod.namespace, pod.namespace, self._namespaces)
        return near and matches(term.labelSelector, pod.labels)

    def _by_key(self, pairs: Iterable[tuple[str, IntArray]]) -> list[tuple[LabelColumn, IntArray]]:
        pods: dict[str, list[IntArray]] = defaultdict(list)
        for key, holders in pairs:
            pods[key].append(holders)
        return [(self._labels.column(key), np.concatenate(pod)) for key, pod in pods.items()]

    def _counts(self, column: LabelColumn, pods: IntArray) -> IntArray:
        """(nodes,) how many of these pods are in each node's domain; 0 where it has none."""
        codes = column.codes[self._occupancy.nodes_of(pods)]
        size = len(column.values) + 1
        counts = np.bincount(codes[codes >= 0], minlength=size).astype(np.int32)
        answer: IntArray = counts[column.codes]
        return answer

    def _allowed_nodes(self, rules: AffinityRules) -> BoolArray:
        answer = np.ones(self._labels.count, dtype=np.bool_)
        anyone = False
        for column in rules.affinity:
            counts = self._counts(column, rules.near)
            anyone = anyone or bool(counts.any())
            answer &= counts > 0
        if rules.affinity and not anyone and rules.first:
            answer[:] = True
            for column in rules.affinity:
                answer &= column.present
        for column, pods in (*rules.anti, *rules.repelling):
            answer &= self._counts(column, pods) == 0
        return answer

    def _score(
        self, weighted_pods: list[tuple[LabelColumn, int, IntArray]], nodes: IntArray
    ) -> ByRange:
        raw = np.zeros(len(nodes), dtype=np.int64)
        for column, weight, pods in weighted_pods:
            raw += weight * self._counts(column, pods)[nodes].astype(np.int64)
        return ByRange(raw)


def _terms(handle: Handle) -> TermIndex:
    pods = handle.snapshot.pods
    everyone = np.arange(len(pods), dtype=np.int32)
    labels = handle.snapshot.namespace_labels
    return TermIndex(pods, everyone, labels, handle.groups, handle.labels)

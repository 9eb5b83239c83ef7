"""podAffinity: near which other pods the pods themselves ask to be.

kube-scheduler evaluates it when it places a pod and never again: partners that came later, or moved
away, leave it unmet. A pod none of whose terms is met costs 1.0; a required term counts as much as
a preferred one of the highest weight, 100. A term for which no partner exists anywhere is left out.

Partners in other namespaces count, and are never moved for it: who can make a pod could else draw
everybody's pods to a node of their choice. They are followed where they go for other reasons.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec
import numpy as np

from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import PodAffinityTerm, PodSpec
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.locality.domain_tree import NOWHERE
from rescheduler.policies.shared.own_partners import OwnPartners

REQUIRED = 100
"""The weight of a required term: that of the strongest preference the API allows."""


@dataclass(frozen=True, slots=True)
class AffinityPreference:
    """One affinity term: pods that hold it, and the pods that would meet it.

    holders, weights: (k,) the pods and what each counts, 0 to 1. targets: the partners in their
    namespace; a holder among them does not meet its own preference. fixed: those in others.
    of: (nodes + 1,) the domain of each node by the term's topologyKey, NOWHERE without the label.
    term: the namespace and the term itself, in full.
    """

    holders: IntArray
    weights: FloatArray
    targets: IntArray
    fixed: IntArray
    of: IntArray
    key: str
    subject: str
    term: str = ""


@dataclass(slots=True)
class _TermCounts:
    """What one domain holds: partners, and the weights of holders that are (not) partners too."""

    targets: int = 0
    both: float = 0.0
    holders: float = 0.0

    def cost(self) -> float:
        """The preferences of the domain that are not met."""
        if self.targets == 0:
            return self.holders
        return self.both if self.targets == 1 else 0.0


class PreferredAffinities:
    """All affinity terms of the pods that a policy selects."""

    def __init__(self, preferences: Sequence[AffinityPreference], node: IntArray) -> None:
        self._preferences = tuple(preferences)
        self._term_counts: list[dict[int, _TermCounts]] = []
        self._roles: dict[int, list[tuple[int, float, bool]]] = {}
        self._node: dict[int, int] = {}
        for number, preference in enumerate(preferences):
            self._term_counts.append({})
            weights = dict(
                zip(preference.holders.tolist(), preference.weights.tolist(), strict=True)
            )
            targets = set(preference.targets.tolist())
            for pod in sorted({*weights, *targets}):
                self._node[pod] = int(node[pod])
                self._roles.setdefault(pod, []).append(
                    (number, weights.get(pod, 0.0), pod in targets)
                )
                self._add(
                    number, int(preference.of[node[pod]]), (weights.get(pod, 0.0), pod in targets)
                )
            for place in preference.of[node[preference.fixed]].tolist():
                self._add(number, place, (0.0, True))
        self._tables: dict[tuple[int, float, bool], FloatArray] = {}

    def _add(self, number: int, place: int, role: tuple[float, bool], sign: int = 1) -> None:
        weight, target = role
        term_counts = self._term_counts[number].setdefault(place, _TermCounts())
        term_counts.targets += sign * target
        if target:
            term_counts.both += sign * weight
        else:
            term_counts.holders += sign * weight

    def cost(self) -> float:
        """The weights of the preferences that are not met."""
        return float(sum(self._cost(number) for number in range(len(self._preferences))))

    def worst(self) -> float:
        """No preference is met."""
        return float(sum(preference.weights.sum() for preference in self._preferences))

    def members(self) -> IntArray:
        """Every pod that holds a preference or would meet one."""
        fixed = [preference.fixed for preference in self._preferences]
        return np.unique(np.concatenate([[*self._roles], *fixed])).astype(np.int32)

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost for each node."""
        total = np.zeros(len(nodes))
        for number, weight, target in self._roles.get(pod, ()):
            of = self._preferences[number].of
            here, places = int(of[source]), of[nodes]
            departure = self._change(number, here, (weight, target), -1)
            table = self._arrival_table(number, (weight, target))
            total += np.where(places == here, 0.0, table[places] + departure)
        return total

    def _arrival_table(self, number: int, role: tuple[float, bool]) -> FloatArray:
        """(domains + 1,) change of the cost where such a pod arrives; the last is NOWHERE."""
        key = (number, *role)
        table = self._tables.get(key)
        if table is None:
            fresh = self._change(number, NOWHERE - 1, role, 1)
            table = np.full(int(self._preferences[number].of.max(initial=0)) + 2, fresh)
            for place in self._term_counts[number]:
                table[place] = self._change(number, place, role, 1)
            table[NOWHERE] = role[0]
            self._tables[key] = table
        return table

    def gain_bound(self, pod: int, source: int) -> float:
        """Its own preferences are met, no partner loses it, and those that it joins gain."""
        total = 0.0
        for number, weight, target in self._roles.get(pod, ()):
            here = int(self._preferences[number].of[source])
            departure = self._change(number, here, (weight, target), -1)
            places = self._arrival_table(number, (weight, target))[:NOWHERE]
            others = places if here == NOWHERE else np.delete(places, here)
            total += max(0.0, -departure - float(others.min(initial=weight)))
        return total

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        roles = self._all_roles(shift.pod)
        changed = {number for number, *_ in roles}
        self._tables = {key: kept for key, kept in self._tables.items() if key[0] not in changed}
        for number, weight, target in roles:
            preference = self._preferences[number]
            self._add(number, int(preference.of[shift.source]), (weight, target), -1)
            self._add(number, int(preference.of[shift.destination]), (weight, target))

    def partners(self, pod: int) -> IntArray:
        """All who share a preference with the pod."""
        shared = [self._preferences[number] for number, *_ in self._all_roles(pod)]
        return np.concatenate(
            [end for preference in shared for end in (preference.holders, preference.targets)]
        )

    def _all_roles(self, pod: int) -> list[tuple[int, float, bool]]:
        """What the pod is to each preference, those of other namespaces too."""
        return self._roles.get(pod, []) + [
            (number, 0.0, True)
            for number, preference in enumerate(self._preferences)
            if len(preference.fixed) and pod in preference.fixed
        ]

    def findings(self) -> Iterator[Finding]:
        """One finding for each preference that is not met everywhere."""
        for number, preference in enumerate(self._preferences):
            cost = self._cost(number)
            if cost <= 1e-12:
                continue
            alone = [pod for pod in preference.holders.tolist() if not self._is_met(number, pod)]
            yield Finding(
                code="LOC004",
                subject=preference.subject,
                cost=cost,
                message=f"{len(alone)} of {count_text(len(preference.holders), 'pod')} "
                f"{verb_for(len(alone), 'has', 'have')} none of the "
                f"{count_text(len(preference.targets) + len(preference.fixed), 'pod')} of their "
                "podAffinity in their "
                f"{preference.key}",
                pods=tuple(np.union1d(alone, preference.targets).astype(int).tolist()),
                aspect=preference.term,
            )

    def _is_met(self, number: int, pod: int) -> bool:
        place = int(self._preferences[number].of[self._node[pod]])
        own = next(target for preference, _, target in self._roles[pod] if preference == number)
        return place != NOWHERE and self._term_counts[number][place].targets > own

    def _cost(self, number: int) -> float:
        term_counts = self._term_counts[number]
        total = sum(
            term_counts.cost() for place, term_counts in term_counts.items() if place != NOWHERE
        )
        outside = term_counts.get(NOWHERE)
        if outside is not None:  # a pod in no domain is near to none, partner or not
            total += outside.both + outside.holders
        return max(0.0, total)

    def _change(self, number: int, place: int, role: tuple[float, bool], sign: int) -> float:
        """How the cost of one domain changes when such a pod comes (1) or goes (-1)."""
        weight, target = role
        if place == NOWHERE:
            return sign * weight
        term_counts = self._term_counts[number].get(place, _TermCounts())
        after = _TermCounts(
            term_counts.targets + sign * target,
            term_counts.both + sign * weight * target,
            term_counts.holders + sign * weight * (not target),
        )
        return after.cost() - term_counts.cost()


_encode = msgspec.json.Encoder(order="deterministic").encode


_Held = dict[tuple[str, bytes], tuple[PodAffinityTerm, dict[int, float]]]
"""Namespace and encoded term to the term, and the weight that it has for each pod."""


def affinity_preferences(
    snapshot: Snapshot, pods: IntArray, nodes: NodeLabels
) -> tuple[list[AffinityPreference], list[str]]:
    """The preferences of these pods, and what to say of the terms that are not counted.

    Terms that come to the same are one. pods: those that count, all bound.
    """
    held = _term_holders(snapshot, pods)
    if not held:
        return [], []
    partners = OwnPartners(snapshot, pods)
    same: dict[tuple[str, str, int], list[tuple[str, bytes]]] = {}
    for key, (term, _) in held.items():
        same.setdefault((key[0], term.topologyKey, partners.count(key[0], term)), []).append(key)
    overfull = partners.overfull
    preferences, alone = [], 0
    for (namespace, topology, number), keys in same.items():
        everybody = partners.found[number]
        weights: dict[int, float] = {}
        for key in keys:
            for pod, weight in held[key][1].items():
                weights[pod] = weights.get(pod, 0.0) + weight
        if len(everybody) < 2:  # a pod is no partner of its own
            weights = {p: w for p, w in weights.items() if len(everybody) and p not in everybody}
        if not weights:
            alone += len(keys)
        elif namespace not in overfull:
            own = partners.is_own(namespace, everybody)
            preferences.append(
                AffinityPreference(
                    holders=np.array(list(weights), dtype=np.int32),
                    weights=np.array(list(weights.values())),
                    targets=everybody[own],
                    fixed=everybody[~own],
                    of=np.append(nodes.column(topology).codes, -1).astype(np.int32),
                    key=topology,
                    subject=_subject(snapshot, list(weights)),
                    term=f"{namespace} {_identity([encoded for _, encoded in keys])}",
                )
            )
    texts = [f"the podAffinity of {subject} is not counted" for subject in overfull.values()]
    if alone:
        texts.append(
            f"{alone} podAffinity terms are not counted, because no other pod matches them"
        )
    return preferences, texts


def _identity(terms: list[bytes]) -> str:
    """The term; of several that come to the same a digest, whichever was found first."""
    if len(terms) == 1:
        return terms[0].decode()
    return sha256(b" ".join(sorted(terms))).hexdigest()


def _term_holders(snapshot: Snapshot, pods: IntArray) -> _Held:
    held: _Held = {}
    of_spec = [[(*term, _encode(term[0])) for term in _terms(spec)] for spec in snapshot.specs]
    holding = np.array([bool(terms) for terms in of_spec], dtype=np.bool_)
    numbers = snapshot.pod_spec
    for pod in pods[holding[numbers[pods]]].tolist():
        for term, weight, encoded in of_spec[numbers[pod]]:
            key = (snapshot.pods[pod].metadata.namespace, encoded)
            _, weights = held.setdefault(key, (term, {}))
            weights[pod] = weights.get(pod, 0.0) + weight
    return held


def _terms(spec: PodSpec) -> Iterator[tuple[PodAffinityTerm, float]]:
    """The terms of such a pod, with weights that sum to 1."""
    affinity = spec.affinity.podAffinity if spec.affinity else None
    if affinity is None:
        return
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution or ()
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution or ()
    total = REQUIRED * len(required) + sum(max(0, term.weight) for term in preferred)
    if total <= 0:
        return
    for term in required:
        yield term, REQUIRED / total
    for weighted_term in preferred:
        if weighted_term.weight > 0:
            yield weighted_term.podAffinityTerm, weighted_term.weight / total


def _subject(snapshot: Snapshot, holders: list[int]) -> str:
    workloads = {int(snapshot.pod_workload[pod]) for pod in holders} - {-1}
    if len(workloads) == 1:
        workload = snapshot.workloads[workloads.pop()]
        return f"{workload.kind} {workload.namespace}/{workload.name}"
    return f"pods of {count_text(len(workloads), 'workload')}"

"""Required inter-pod terms: who breaks its own, and what a move of any pod changes about that."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from rescheduler.kube.nodes.node_labels import LabelColumn, NodeLabels
from rescheduler.kube.objects import Affinity, PodAffinityTerm
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.shared.own_partners import OwnPartners

Kind = Literal["apart", "near"]

_Changes = npt.NDArray[np.int16]
_CHUNK = 2_000_000
"""How many (holder, node) pairs are evaluated together."""


@dataclass(slots=True, eq=False)
class RequiredTerm:
    """Pods that must be apart from, or near to, the same others.

    columns: the topology of each term, with the domain of each node; one for `apart`.
    holders: the pods that have it. members: the pods that it is about, those that match all terms.
    movable: those of them in its namespace. The others are never moved for it, as who can make
    a pod could else have everybody's evicted, and only followed where they go for other reasons.
    own: (holders,) 1 for a holder that is a member itself. counts: members per domain, by column.
    broken: (holders,) which of them break it where they are now.
    """

    kind: Kind
    columns: list[LabelColumn]
    keys: list[str]
    holders: IntArray
    members: IntArray
    movable: IntArray
    own: IntArray
    counts: list[IntArray]
    broken: BoolArray

    @property
    def topology(self) -> str:
        """The topology keys, as people read them."""
        return " and ".join(self.keys)

    def other_members(self, at: int, nodes: IntArray, own: IntArray) -> IntArray:
        """(k,) members in the domain of each node by that column, but for the pod itself."""
        codes = self.columns[at].codes[nodes]
        answer: IntArray = np.where(codes >= 0, self.counts[at][codes] - own, 0)
        return answer

    def breaks(self, nodes: IntArray, own: IntArray) -> BoolArray:
        """(k,) whether pods on these nodes, already counted there, break it."""
        alone = len(self.members) - own <= 0
        answer = np.zeros(len(nodes), dtype=np.bool_)
        for at, column in enumerate(self.columns):
            others = self.other_members(at, nodes, own)
            if self.kind == "apart":
                answer |= others > 0
            else:
                first = alone & (own > 0) & (column.codes[nodes] >= 0)
                answer |= (others <= 0) & ~first
        return answer


class RequiredPodAffinity:
    """The preferences of some pods on a working copy, and who breaks them.

    A pod on a node without the topology's label is in no domain: it is apart from all, and near to
    none. A pod that must be near its own kind may be the first of it. Pods that are being deleted
    are neither holders nor members. Source: pkg/scheduler/framework/plugins/interpodaffinity.
    """

    def __init__(
        self, snapshot: Snapshot, chosen: IntArray, everyone: IntArray, kinds: Iterable[Kind]
    ) -> None:
        """Find the required terms. chosen: of these pods. everyone: whom they may be about."""
        self._snapshot = snapshot
        self._node = snapshot.pod_node.copy()
        self._labels = NodeLabels(snapshot.nodes)
        self._everyone = everyone
        self.overfull: dict[str, str] = {}
        """Namespaces whose terms do not count, and why."""
        self.required_terms: list[RequiredTerm] = []
        self.held: dict[int, tuple[int, ...]] = {}
        self.about: dict[int, tuple[int, ...]] = {}
        self.broken: _Changes = np.zeros(len(snapshot.pods), dtype=np.int16)
        """(pods,) how many of its preferences each pod breaks."""
        self._gather(chosen, frozenset(kinds))

    def broken_term(self, pod: int) -> RequiredTerm | None:
        """A preference that the pod breaks, or None."""
        for number in self.held.get(pod, ()):
            required_term = self.required_terms[number]
            if required_term.broken[np.searchsorted(required_term.holders, pod)]:
                return required_term
        return None

    def pods_too_near(self, pod: int) -> IntArray:
        """The pods from which this one must be apart, and is not."""
        near_pods = [np.zeros(0, dtype=np.int32)]
        for number in self.held.get(pod, ()):
            required_term = self.required_terms[number]
            here = required_term.columns[0].codes[self._node[pod]]
            if required_term.kind == "apart" and here >= 0:
                there = required_term.columns[0].codes[self._node[required_term.movable]] == here
                near_pods.append(required_term.movable[there & (required_term.movable != pod)])
        return np.unique(np.concatenate(near_pods))

    def would_break(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the pod would break one of its preferences on each of these nodes."""
        answer = np.zeros(len(nodes), dtype=np.bool_)
        here = self._node[pod]
        for number in self.held.get(pod, ()):
            required_term = self.required_terms[number]
            counted = number in self.about.get(pod, ())
            # A member is counted where it is: there, and nowhere else, it is not another.
            self_there = np.zeros(len(nodes), dtype=np.int32)
            for at, column in enumerate(required_term.columns):
                codes = column.codes[nodes]
                same = (codes == column.codes[here]) & (codes >= 0) & counted
                others = required_term.other_members(at, nodes, self_there) - same
                if required_term.kind == "apart":
                    answer |= others > 0
                else:
                    alone = counted and len(required_term.members) == 1
                    answer |= (others <= 0) & ~(alone & (codes >= 0))
        return answer

    def change(self, pod: int, nodes: IntArray, rest: FloatArray) -> FloatArray:
        """(k,) change of what other pods are charged if this one moved to each of these nodes.

        rest: (pods,) what each pod is charged where it breaks no preference, below 1; with one, it
        is 1.
        """
        total = np.zeros(len(nodes))
        required_terms = [self.required_terms[number] for number in self.about.get(pod, ())]
        term_slots = [
            (required_term, slots)
            for required_term in required_terms
            if len(slots := self._sensitive(required_term, pod))
        ]
        if not term_slots:
            return total
        every = np.concatenate(
            [required_term.holders[slots] for required_term, slots in term_slots]
        )
        touched = np.unique(every)
        if len(touched) == len(every) and all(
            len(required_term.columns) == 1 for required_term, _ in term_slots
        ):
            for required_term, slots in term_slots:
                total += self._by_domain(required_term, slots, pod, rest)[
                    required_term.columns[0].codes[nodes]
                ]
            return total
        before = self.broken[touched]
        charged = np.where(before > 0, 1.0, rest[touched])
        step = max(1, _CHUNK // len(touched))
        for start in range(0, len(nodes), step):
            part = nodes[start : start + step]
            after = np.repeat(before[:, None], len(part), axis=1)
            for required_term, slots in term_slots:
                rows = np.searchsorted(touched, required_term.holders[slots])
                after[rows] += self._breaks_after_move(
                    required_term, slots, int(self._node[pod]), part
                )
                after[rows] -= required_term.broken[slots, None]
            later = np.where(after > 0, 1.0, rest[touched][:, None])
            total[start : start + step] = (later - charged[:, None]).sum(axis=0)
        return total

    def relief_bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod could lower what other pods are charged."""
        broken = [int(required_term.broken.sum()) for required_term in self.required_terms]
        most = np.zeros(len(pods))
        if any(broken):
            about = (self.about.get(pod, ()) for pod in pods.tolist())
            most[:] = [sum(broken[number] for number in numbers) for numbers in about]
        return most

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        about = (*self.about.get(shift.pod, ()), *self._foreign_to(shift.pod))
        for number in about:
            required_term = self.required_terms[number]
            for column, counts in zip(required_term.columns, required_term.counts, strict=True):
                for node, step in ((shift.source, -1), (shift.destination, 1)):
                    if column.codes[node] >= 0:
                        counts[column.codes[node]] += step
        for number in {*about, *self.held.get(shift.pod, ())}:
            self._evaluate(self.required_terms[number])

    def _foreign_to(self, pod: int) -> Iterator[int]:
        """The terms of other namespaces that are about the pod."""
        mine = set(self.about.get(pod, ()))
        for number, term in enumerate(self.required_terms):
            if len(term.movable) < len(term.members) and number not in mine:
                place = int(np.searchsorted(term.members, pod))
                if place < len(term.members) and term.members[place] == pod:
                    yield number

    def involved_pods(self) -> Iterator[IntArray]:
        """The pods that break a preference, and those that keep others from being apart."""
        for required_term in self.required_terms:
            broken = required_term.holders[required_term.broken]
            if not len(broken):
                continue
            yield broken
            if required_term.kind == "apart":
                codes = required_term.columns[0].codes
                there = np.unique(codes[self._node[broken]])
                yield required_term.movable[
                    np.isin(codes[self._node[required_term.movable]], there)
                ]

    def _evaluate(self, required_term: RequiredTerm) -> None:
        self.broken[required_term.holders] -= required_term.broken
        required_term.broken = required_term.breaks(
            self._node[required_term.holders], required_term.own
        )
        self.broken[required_term.holders] += required_term.broken

    def _sensitive(self, required_term: RequiredTerm, pod: int) -> IntArray:
        """The slots of the holders, but for the pod, to which one member more or less matters."""
        nodes = self._node[required_term.holders]
        answer = np.zeros(len(nodes), dtype=np.bool_)
        for at, column in enumerate(required_term.columns):
            codes = column.codes[nodes]
            others = required_term.other_members(at, nodes, required_term.own)
            here = column.codes[self._node[pod]]
            answer |= (codes >= 0) & ((others == 0) | ((others == 1) & (codes == here)))
        answer &= required_term.holders != pod
        return np.flatnonzero(answer).astype(np.int32)

    def _by_domain(
        self, required_term: RequiredTerm, slots: IntArray, pod: int, rest: FloatArray
    ) -> FloatArray:
        """(domains + 1,) `change` by the domain to which a member goes; the last is for none.

        For a preference of one topology, if these holders have no other one about the member.
        """
        column, holders = required_term.columns[0], required_term.holders[slots]
        at, own = self._node[holders], required_term.own[slots]
        here, codes = column.codes[self._node[pod]], column.codes[at]
        members_left = required_term.other_members(0, at, own) - ((codes == here) & (codes >= 0))
        more = self.broken[holders] > required_term.broken[slots]
        charged = np.where(self.broken[holders] > 0, 1.0, rest[holders])
        gone, there = (
            np.where(more | broken, 1.0, rest[holders])
            for broken in (
                (members_left > 0, members_left + 1 > 0)
                if required_term.kind == "apart"
                else (members_left <= 0, members_left + 1 <= 0)
            )
        )
        answer = np.full(len(column.values) + 1, float((gone - charged).sum()))
        inside = codes >= 0
        np.add.at(answer, codes[inside], (there - gone)[inside])
        return answer

    def _breaks_after_move(
        self, required_term: RequiredTerm, slots: IntArray, source: int, nodes: IntArray
    ) -> BoolArray:
        """(slots, k) whether these holders break the preference once a member went to each node."""
        at = self._node[required_term.holders[slots]]
        answer = np.zeros((len(slots), len(nodes)), dtype=np.bool_)
        for number, column in enumerate(required_term.columns):
            codes = column.codes[at]
            others = required_term.other_members(number, at, required_term.own[slots])
            others = others - ((codes == column.codes[source]) & (codes >= 0))
            arrived = (codes[:, None] == column.codes[nodes][None, :]) & (codes >= 0)[:, None]
            there = others[:, None] + arrived
            answer |= there > 0 if required_term.kind == "apart" else there <= 0
        return answer

    def _gather(self, chosen: IntArray, kinds: frozenset[Kind]) -> None:
        holders: dict[bytes, list[int]] = defaultdict(list)
        terms: dict[bytes, tuple[Kind, list[PodAffinityTerm], str]] = {}
        keys_by_affinity: dict[tuple[int, str], list[bytes]] = {}
        pods = self._snapshot.pods
        with_affinity = np.array(
            [spec.affinity is not None for spec in self._snapshot.specs], dtype=np.bool_
        )
        for pod in chosen[with_affinity[self._snapshot.pod_spec[chosen]]].tolist():
            affinity, namespace = pods[pod].spec.affinity, pods[pod].metadata.namespace
            if affinity is None:
                continue
            keys = keys_by_affinity.get((id(affinity), namespace))
            if keys is None:
                keys = keys_by_affinity[id(affinity), namespace] = []
                for kind, group in _required_terms(affinity):
                    if kind in kinds:
                        key = msgspec.msgpack.encode((kind, namespace, group))
                        terms[key] = (kind, group, namespace)
                        keys.append(key)
            for key in keys:
                holders[key].append(pod)
        if terms:
            self._bind(terms, holders)

    def _bind(
        self,
        terms: dict[bytes, tuple[Kind, list[PodAffinityTerm], str]],
        holders: dict[bytes, list[int]],
    ) -> None:
        """Make one of the terms that come to the same."""
        partners = OwnPartners(self._snapshot, self._everyone)
        same: dict[tuple[Kind, str, tuple[str, ...], int], list[int]] = defaultdict(list)
        for encoded, (kind, group, namespace) in terms.items():
            keys = tuple(term.topologyKey for term in group)
            same[kind, namespace, keys, partners.count(namespace, *group)] += holders[encoded]
        self.overfull = partners.overfull
        held: dict[int, list[int]] = defaultdict(list)
        about: dict[int, list[int]] = defaultdict(list)
        for (kind, namespace, keys, number), those in same.items():
            if namespace in self.overfull:
                continue
            members = partners.found[number]
            columns = [self._labels.column(key) for key in keys]
            having = np.unique(np.array(those, dtype=np.int32))
            required_term = RequiredTerm(
                kind=kind,
                columns=columns,
                keys=list(keys),
                holders=having,
                members=members,
                movable=members[partners.is_own(namespace, members)],
                own=np.isin(having, members).astype(np.int32),
                counts=[self._count(column, members) for column in columns],
                broken=np.zeros(len(having), dtype=np.bool_),
            )
            place = len(self.required_terms)
            self.required_terms.append(required_term)
            self._evaluate(required_term)
            for pod in required_term.holders.tolist():
                held[pod].append(place)
            for pod in required_term.movable.tolist():
                about[pod].append(place)
        self.held = {pod: tuple(numbers) for pod, numbers in held.items()}
        self.about = {pod: tuple(numbers) for pod, numbers in about.items()}

    def _count(self, column: LabelColumn, members: IntArray) -> IntArray:
        codes = column.codes[self._node[members]]
        size = len(column.values) + 1
        return np.bincount(codes[codes >= 0], minlength=size).astype(np.int32)


def _required_terms(affinity: Affinity) -> Iterator[tuple[Kind, list[PodAffinityTerm]]]:
    """The required terms: each anti-affinity by itself, those of an affinity together."""
    if affinity.podAntiAffinity:
        for term in affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution or ():
            yield "apart", [term]
    if affinity.podAffinity:
        terms = affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution
        if terms:
            yield "near", list(terms)

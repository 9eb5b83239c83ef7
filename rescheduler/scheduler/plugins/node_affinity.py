"""Plugin NodeAffinity: node selectors, required and preferred node affinity."""

from functools import partial
from typing import ClassVar, Self

import msgspec
import numpy as np

from rescheduler.kube.node_labels import NodeLabels
from rescheduler.kube.objects import NodeAffinity as DeclaredAffinity
from rescheduler.kube.objects import NodeSelectorTerm, PodSpec, PreferredSchedulingTerm
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import ByMaximum
from rescheduler.scheduler.plugin import (
    Filter,
    Plugin,
    Replacement,
    Score,
    ScoreArray,
)
from rescheduler.scheduler.profile import Profile


class NodeAffinity(Plugin):
    """Answers depend on labels alone, so each distinct affinity is evaluated once."""

    name: ClassVar[str] = "NodeAffinity"
    weight: ClassVar[int] = 2
    rejection: ClassVar[str] = "node(s) didn't match Pod's node affinity/selector"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True

    def __init__(self, labels: NodeLabels, added: DeclaredAffinity | None = None) -> None:
        """added: the scheduler's own affinity, which holds for every pod beside the pod's."""
        self._labels = labels
        self._required: dict[bytes, BoolArray] = {}
        self._preferred: dict[bytes, ScoreArray] = {}
        added = added or DeclaredAffinity()
        required = added.requiredDuringSchedulingIgnoredDuringExecution
        self._added = None if required is None else labels.matching(required)
        self._added_preferred = added.preferredDuringSchedulingIgnoredDuringExecution or []

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """One for all profiles that add no affinity of their own."""
        if profile.added_affinity is None:
            return handle.part(cls._plain)
        return cls(handle.labels, profile.added_affinity)

    @classmethod
    def _plain(cls, handle: Handle) -> Self:
        return cls(handle.labels)

    def matching(self, spec: PodSpec) -> BoolArray | None:
        """(nodes,) nodes that the nodeSelector and the required affinity accept; None: all."""
        affinity = spec.affinity.nodeAffinity if spec.affinity else None
        required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity else None
        if not spec.nodeSelector and required is None:
            return None
        key = msgspec.msgpack.encode((spec.nodeSelector, required))
        known = self._required.get(key)
        if known is None:
            known = self._labels.having(spec.nodeSelector or {})
            if required is not None:
                known &= self._labels.matching(required)
            self._required[key] = known
        return known

    def named(self, spec: PodSpec) -> IntArray | None:
        """The nodes that every required term names by metadata.name; None where one does not.

        The scheduler then looks at these nodes alone, which changes how many it samples.
        """
        affinity = spec.affinity.nodeAffinity if spec.affinity else None
        required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity else None
        if required is None or not required.nodeSelectorTerms:
            return None
        found: set[str] = set()
        for term in required.nodeSelectorTerms:
            names = _names(term)
            if names is None:
                return None
            found |= names
        index = self._labels.index
        return np.array(sorted(index[name] for name in found if name in index), dtype=np.int32)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes that the pod's selector, its required affinity and the added one accept."""
        passing = self.matching(pod.spec)
        if self._added is not None:
            passing = self._added if passing is None else passing & self._added
        return None if passing is None else lambda: passing

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """The added affinity is looked at before the pod's own."""
        if self._added is None:
            return {}
        own = self.matching(pod.spec)
        told = {"node(s) didn't match scheduler-enforced node affinity": ~self._added}
        if own is not None:
            told[self.rejection] = self._added & ~own
        return told

    def score(self, pod: Replacement) -> Score | None:
        """More weight of satisfied preferred terms is better."""
        affinity = pod.spec.affinity.nodeAffinity if pod.spec.affinity else None
        own = affinity.preferredDuringSchedulingIgnoredDuringExecution if affinity else None
        preferred: list[PreferredSchedulingTerm] = [*(own or ()), *self._added_preferred]
        if not preferred:
            return None
        key = msgspec.msgpack.encode(preferred)
        raw = self._preferred.get(key)
        if raw is None:
            raw = np.zeros(self._labels.count, dtype=np.int64)
            for each in preferred:
                raw += each.weight * self._labels.satisfying(each.preference)
            self._preferred[key] = raw
        return partial(self._score, raw)

    @staticmethod
    def _score(raw: ScoreArray, nodes: IntArray) -> ByMaximum:
        return ByMaximum(raw[nodes])


def _names(term: NodeSelectorTerm) -> set[str] | None:
    names: set[str] | None = None
    for field in term.matchFields or ():
        if field.key == "metadata.name" and field.operator == "In":
            values = set(field.values or ())
            names = values if names is None else names & values
    return names

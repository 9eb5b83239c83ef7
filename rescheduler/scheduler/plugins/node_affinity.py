"""Plugin NodeAffinity: node selectors, required and preferred node affinity."""

from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.arrays import BoolArray, IntArray
from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import NodeAffinity as DeclaredAffinity
from rescheduler.kube.objects import NodeSelectorTerm, PodSpec, PreferredSchedulingTerm
from rescheduler.kube.pods.node_selection import NodeSelection, node_affinity
from rescheduler.kube.pods.steered_affinity import WEIGHT
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import ByMaximum
from rescheduler.scheduler.plugin import (
    Filter,
    Plugin,
    Replacement,
    Score,
    ScoreArray,
    Steer,
)
from rescheduler.scheduler.profile import Profile


class NodeAffinity(Plugin):
    """Source: pkg/scheduler/framework/plugins/nodeaffinity."""

    name: ClassVar[str] = "NodeAffinity"
    weight: ClassVar[int] = 2
    rejection: ClassVar[str] = "node(s) didn't match Pod's node affinity/selector"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True

    def __init__(
        self, labels: NodeLabels, selection: NodeSelection, added: DeclaredAffinity | None = None
    ) -> None:
        """added: the scheduler's own affinity, which holds for every pod beside the pod's."""
        self._labels = labels
        self._selection = selection
        added = added or DeclaredAffinity()
        self._added = selection.selected_nodes(added.requiredDuringSchedulingIgnoredDuringExecution)
        self._added_preferred = added.preferredDuringSchedulingIgnoredDuringExecution or []

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """With what the profile adds of its own."""
        return cls(handle.labels, handle.selection, profile.added_affinity)

    def named_nodes(self, spec: PodSpec) -> IntArray | None:
        """The nodes that every required term names by metadata.name; None where one does not.

        The scheduler then considers these nodes alone, which changes how many it samples.
        """
        required = node_affinity(spec).requiredDuringSchedulingIgnoredDuringExecution
        if required is None or not required.nodeSelectorTerms:
            return None
        node_names: set[str] = set()
        for term in required.nodeSelectorTerms:
            names = _names(term)
            if names is None:
                return None
            node_names |= names
        index = self._labels.index
        return np.array(sorted(index[name] for name in node_names if name in index), dtype=np.int32)

    def follows(self, steer: Steer) -> bool:
        """A term more."""
        return steer.preferred is not None

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes that the pod's selector, its required affinity and the added one accept."""
        passing = self._selection.required_nodes(pod.spec)
        if self._added is not None:
            passing = self._added if passing is None else passing & self._added
        only = None if pod.steer is None else pod.steer.only
        if only is not None:
            passing = only if passing is None else passing & only
        return None if passing is None else lambda: passing

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """The added affinity is evaluated before the pod's own."""
        if self._added is None:
            return {}
        own = self._selection.required_nodes(pod.spec)
        reasons = {"node(s) didn't match scheduler-enforced node affinity": ~self._added}
        if own is not None:
            reasons[self.rejection] = self._added & ~own
        return reasons

    def score(self, pod: Replacement) -> Score | None:
        """More weight of satisfied preferred terms is better."""
        own = node_affinity(pod.spec).preferredDuringSchedulingIgnoredDuringExecution
        preferred: list[PreferredSchedulingTerm] = [*(own or ()), *self._added_preferred]
        chosen = None if pod.steer is None else pod.steer.preferred
        if not preferred and chosen is None:
            return None
        raw = self._selection.preference_weights(preferred)
        return partial(self._score, raw if chosen is None else raw + WEIGHT * chosen)

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

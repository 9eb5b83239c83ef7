"""Landings and moves, as planning handles them: indices into the snapshot."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.problem import Problem


class Shift(NamedTuple):
    """A pod that changes its node in a working copy. Committing the reversed shift undoes it."""

    pod: int
    source: int
    destination: int

    def shift_back(self) -> "Shift":
        """The shift back."""
        return Shift(self.pod, self.destination, self.source)


@dataclass(frozen=True, slots=True)
class Landing:
    """Where the active scheduler will put a pod's replacement.

    nodes: (k,) indices of the nodes with a probability above zero, most likely first.
    probabilities: (k,) they and `unschedulable` sum to 1.
    returns: the probability of landing on the node that the pod has left.
    unschedulable: the probability that no node is feasible.
    refusal: why the landing cannot be predicted, or None; then the arrays are empty.
    rejections: how many nodes each filter rejects first, by name of the plugin.
    """

    nodes: IntArray
    probabilities: FloatArray
    returns: float = 0.0
    unschedulable: float = 0.0
    refusal: Problem | None = None
    rejections: dict[str, int] = field(default_factory=dict)

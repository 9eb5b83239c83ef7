"""Terms whose cost is a sum over nodes: the cost of a node depends only on the pods on it.

So a move changes the costs of two nodes only. What a pod saves on the node it leaves and what it
adds on the other node are independent, and can be computed for many pods and nodes at once.
Planning needs that to choose among millions of pairs of pod and node.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift


class Kernel(Protocol):
    """The costs of a term by node, on a working copy of its own, in the term's units.

    For a pod on node a and another node b, `departure_deltas` plus `arrival_deltas` at b is the
    term's `deltas`.
    """

    movable: BoolArray
    """(pods,) which pods the policy may move."""

    def cost(self) -> float:
        """The cost of the working copy, without the part that no move changes."""
        ...

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) change of the cost if only this pod left its node, for each of these bound pods."""
        ...

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) change of the cost if only this pod came to this node, for each pod and node."""
        ...

    def commit(self, shift: Shift) -> None:
        """Move the pod; -1 is no node."""
        ...

    def savings(self) -> FloatArray:
        """(pods,) upper bound of what a pod adds to the saving of any set of moves."""
        ...


@runtime_checkable
class Exchanging(Kernel, Protocol):
    """A kernel that computes for many pairs of pods what swapping them changes."""

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) change of the cost if only this pod went to its node of `nodes`, for each pod.

        others: (k,) the pod that comes from there to the node of this one, -1 for none.
        """
        ...

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move each pod, all of them different, to its node."""
        ...


@runtime_checkable
class Attracting(Kernel, Protocol):
    """A kernel that proposes better nodes for pods."""

    def attracting_nodes(self, pods: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) a node for each pod, drawn at random."""
        ...


@runtime_checkable
class Separable(Protocol):
    """A term whose cost is a sum over nodes."""

    def kernel(self) -> Kernel | None:
        """A kernel that begins at the term's working copy; None if the cost is no such sum."""
        ...


@runtime_checkable
class Estimating(Protocol):
    """A term whose cost is no such sum, but that can estimate what moves change, to propose some.

    The term itself then evaluates what is proposed.
    """

    def estimate(self) -> Kernel:
        """A kernel that begins at the term's working copy, and need not be exact."""
        ...


@runtime_checkable
class Roomed(Protocol):
    """A term that knows how much room each node has left for pods."""

    def room(self) -> tuple[FloatArray, FloatArray]:
        """(pods, k) what each pod takes, and (nodes, k) the room of each, below 0 if overfull."""
        ...

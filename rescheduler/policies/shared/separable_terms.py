"""Terms whose cost is a sum over nodes: what each node costs depends on the pods on it alone.

Then a move changes the costs of two nodes and of no others: what a pod saves where it leaves and
what it adds where it comes are independent, and can be had for many pods and nodes at once. That
is what planning needs to choose destinations among millions of pairs.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift


class Kernel(Protocol):
    """The sums of a term on a working copy of its own, in the term's units.

    For a pod on node a and another node b, `departure_deltas` plus `arrival_deltas` at b is the
    term's `deltas`.
    """

    movable: BoolArray
    """(pods,) which pods the policy may move."""

    def cost(self) -> float:
        """The cost of the working copy, but for what no move changes."""
        ...

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) change of the cost if each of these bound pods, it alone, left its node."""
        ...

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) change of the cost if each pod, it alone, came to each node beside all there."""
        ...

    def commit(self, shift: Shift) -> None:
        """Move the pod; -1 is no node."""
        ...

    def savings(self) -> FloatArray:
        """(pods,) at most what each adds to what some moves save together, whichever those are."""
        ...


@runtime_checkable
class Exchanging(Kernel, Protocol):
    """A kernel that can tell of many pairs of pods what it changes if they change places."""

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) change of the cost if each pod, it alone, went to its own, other node.

        others: (k,) the pod there that comes to where this one is, -1 for none.
        """
        ...

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move each pod, all of them different, to its node."""
        ...


@runtime_checkable
class Attracting(Kernel, Protocol):
    """A kernel that tells of pods where it might be better for them."""

    def attracting_nodes(self, pods: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) a node for each, drawn."""
        ...


@runtime_checkable
class Separable(Protocol):
    """A term that can be had as such sums."""

    def kernel(self) -> Kernel | None:
        """A kernel that begins at the term's working copy; None where it is no such sum."""
        ...


@runtime_checkable
class Estimating(Protocol):
    """A term that is no such sum, and can tell nearly what moves change: enough to propose some.

    What is proposed is judged by the term itself.
    """

    def estimate(self) -> Kernel:
        """A kernel that begins at the term's working copy, and need not be exact."""
        ...


@runtime_checkable
class Roomed(Protocol):
    """A term that knows how much more of something pods may fill nodes with."""

    def room(self) -> tuple[FloatArray, FloatArray]:
        """(pods, k) what each takes, and (nodes, k) what is left on each, below 0 for too much."""
        ...

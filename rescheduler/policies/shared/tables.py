"""The arrays that kernels keep, as compiled loops read and change them."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import FloatArray, IntArray


class HingeTables(NamedTuple):
    """Of hinges. parts: (pods + 1, hinges), the last row nobody's. over: (nodes, hinges).

    now: (nodes,) what each costs. where: (pods,) nodes.
    """

    parts: FloatArray
    over: FloatArray
    now: FloatArray
    where: IntArray


class TrafficTables(NamedTuple):
    """Of pairs of services; the pods at one end of a pair are a side.

    group: (pods,), -1 for none; its sides are `held` from `held_of[group]` on, its rows begin at
    `begin[group]`. pair, end: (rows,) the pairs that it is at, ascending, and at which of their
    ends. sides: (pairs, 2) which, and shares: (pairs, 2) what one pod is of each. amounts:
    (pairs,). counts: (nodes, sides). up_to: (rows + 1,) sums of what rows amount to. partners:
    pods, those of each side from `first` of it.
    """

    group: IntArray
    held_of: IntArray
    held: IntArray
    begin: IntArray
    pair: IntArray
    end: IntArray
    sides: IntArray
    shares: FloatArray
    amounts: FloatArray
    counts: npt.NDArray[np.int16]
    up_to: FloatArray
    first: IntArray
    partners: IntArray
    where: IntArray


@runtime_checkable
class Tabled(Protocol):
    """A kernel that is nothing but such arrays, and right again once these are."""

    def tables(self) -> HingeTables | TrafficTables:
        """The arrays themselves."""
        ...

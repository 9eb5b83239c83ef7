"""The arrays that kernels and rules keep, as loops read and change them.

Where a table has a row more than there are pods, the last is nobody's.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.policies.shared.tables import HingeTables, TrafficTables


class RoomTables(NamedTuple):
    """demands, kept: (pods, resources); taken: (pods + 1, resources); free: (nodes, resources).

    home: (pods,) where each takes no more than is kept.
    """

    demands: FloatArray
    kept: FloatArray
    taken: FloatArray
    free: FloatArray
    home: IntArray
    where: IntArray


class AcceptedTables(NamedTuple):
    """masks: (shapes, nodes). shape: (pods,)."""

    masks: BoolArray
    shape: IntArray


class ApartTables(NamedTuple):
    """group: (pods,), 0 for none. counts: (groups, nodes)."""

    group: IntArray
    counts: npt.NDArray[np.int16]
    where: IntArray


class DomainsTables(NamedTuple):
    """group: (pods,), 0 for none. least, domains: (groups,). domain: (nodes,).

    counts: (groups, domains).
    """

    group: IntArray
    least: IntArray
    domain: IntArray
    counts: IntArray
    domains: IntArray
    where: IntArray


class BesideTables(NamedTuple):
    """group: (pods,). domain: (nodes,). counts, missing, wanting: (groups, domains).

    needs, needed_by: groups, of each group from `needs_of[group]` to the next.
    """

    group: IntArray
    domain: IntArray
    counts: IntArray
    missing: IntArray
    wanting: IntArray
    needs_of: IntArray
    needs: IntArray
    needed_by_of: IntArray
    needed_by: IntArray
    where: IntArray


class AllottedTables(NamedTuple):
    """share: (rules, pods). left: (rules, shares)."""

    share: IntArray
    left: npt.NDArray[np.int64]


class Rules(NamedTuple):
    """One of each; what a placement has not forbids nothing."""

    room: RoomTables
    accepted: AcceptedTables
    apart: ApartTables
    least: DomainsTables
    beside: BesideTables
    allotted: AllottedTables


class State(NamedTuple):
    """A placement. home, where: (pods,) nodes. price: (pods,).

    of_hinges, of_traffic: what one unit of their cost counts.
    """

    home: IntArray
    where: IntArray
    price: FloatArray
    hinges: HingeTables
    traffic: TrafficTables
    of_hinges: float
    of_traffic: float
    rules: Rules


class Away(NamedTuple):
    """pods: (pods,) of which the first are away from home. place: (pods,) in it, -1 at home."""

    pods: IntArray
    place: IntArray


class Best(NamedTuple):
    """where: (pods,) at the best that was seen. changed: (pods,) of which the first differ perhaps.

    is_changed: (pods,) whether each is among them.
    """

    where: IntArray
    changed: IntArray
    is_changed: BoolArray


class Drawn(NamedTuple):
    """Who is drawn. pool: pods, each as often as it is to be drawn. attracted: pods with traffic.

    movable: all that may move. nodes: all of them, in their order. slots: (nodes, k) those of each
    node that may move, of which the first `held` (nodes,) count; place: (pods,) in it.
    """

    pool: IntArray
    attracted: IntArray
    movable: IntArray
    nodes: IntArray
    slots: IntArray
    held: IntArray
    place: IntArray


class Counters(NamedTuple):
    """amounts: cost, best cost, price of being away, and that at first.

    numbers: pods away, changed since the best, moves made. Their places are named in `annealing`.
    """

    amounts: FloatArray
    numbers: npt.NDArray[np.int64]

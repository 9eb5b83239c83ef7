"""Landings along a plan, when the landings of the moves before are themselves only likely."""

import numpy as np

from rescheduler.model.move import Landing
from rescheduler.model.readings import FloatArray


class Exchanges:
    """What earlier moves of the plan leave open about a later one's landing.

    The working copy puts each replacement on its most likely node, d. It may as well land on
    another node g of its landing, with probability q(g); then d is as free as g was thought to be,
    and the other way round. So a later landing has to count each such swap: with probability q(g)
    the shares of d and g are exchanged. Without it a plan would say that of two pods and two equal
    nodes only one order can come true.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._earlier: dict[int, tuple[int, Landing]] = {}

    def add(self, pod: int, destination: int, landing: Landing) -> None:
        """Remember that this pod was put on its most likely node."""
        self._earlier[pod] = (destination, landing)

    def remove(self, pod: int) -> None:
        """Forget a pod whose move was taken back."""
        self._earlier.pop(pod, None)

    def spread(self, landing: Landing, source: int) -> Landing:
        """The landing with every swap counted; the share of the pod's own node stays as it is."""
        if not self._earlier:
            return landing
        shares: FloatArray = np.zeros(self._nodes, dtype=np.float64)
        shares[landing.nodes] = landing.probabilities
        for destination, earlier in reversed(self._earlier.values()):
            _swap(shares, destination, earlier, source)
        (found,) = np.nonzero(shares > 1e-12)
        nodes = found[np.lexsort((found, -shares[found]))].astype(np.int32)
        return Landing(
            nodes=nodes,
            probabilities=shares[nodes],
            returns=landing.returns,
            unschedulable=landing.unschedulable,
            rejections=landing.rejections,
        )


def _swap(shares: FloatArray, destination: int, earlier: Landing, source: int) -> None:
    if destination == source:
        return
    others = (earlier.nodes != destination) & (earlier.nodes != source)
    nodes, chances = earlier.nodes[others], earlier.probabilities[others]
    flow = chances * (shares[nodes] - shares[destination])
    shares[nodes] -= flow
    shares[destination] += flow.sum()

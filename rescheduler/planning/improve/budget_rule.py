"""Rule: at most so many pods of a node, namespace, workload or budget are away from home."""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, IntArray


class Allotted:
    """Lets no more pods of one budget be away from home than the budget allows.

    budget: (pods,) index of the budget each pod spends. remaining: (k,) how many more may go than
    are away already. home, where: (pods,) nodes.
    """

    def __init__(
        self, budget: IntArray, remaining: IntArray, home: IntArray, where: IntArray
    ) -> None:
        self.groups = len(remaining)
        self._budget, self._home = budget, home
        self._left = remaining.copy()
        self._away: BoolArray = home != where

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether it is away already, comes home, or may go."""
        free = self._away[pods] | (self._left[self._budget[pods]] > 0)
        return np.broadcast_to(free[:, None], (len(pods), len(nodes)))

    def admits(self, pods: IntArray, nodes: IntArray, _: IntArray) -> BoolArray:
        """(k,) whether it is away already, comes home, or may go, whatever the others do."""
        free: BoolArray = self._away[pods] | (nodes == self._home[pods])
        free |= self._left[self._budget[pods]] > 0
        return free

    def couplings(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Of each budget one goes at a time."""
        going = ~self._away[pods] & (nodes != self._home[pods])
        nobody = np.full(len(pods), -1)
        return np.where(going, self._budget[pods], -1), nobody, nobody

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        away: BoolArray = nodes != self._home[pods]
        np.subtract.at(self._left, self._budget[pods], away.astype(np.int32) - self._away[pods])
        self._away[pods] = away

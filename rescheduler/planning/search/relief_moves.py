"""Chains for a pod that would fit but cost too much on a node: who leaves that node first.

The pod is put on the node for a moment. What it costs there too much is what others could take
away by leaving, wherever that cost comes from.
"""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.planning.evaluation.bounds import greatest
from rescheduler.planning.evaluation.evaluation import NOTHING
from rescheduler.planning.evaluation.evaluator import Evaluator

_MOST_TARGETS = 4
_MOST_TRIED, _MOST_HELPERS = 8, 3
"""How many are tried: nodes for the pod, and on each of them others that leave: so many are asked
where they could go, of whom so many are tried."""


def free_on(evaluator: Evaluator, node: int) -> list[int]:
    """The pods of the node that may be moved and steered, the least disruption first."""
    copy, pods = evaluator.copy, evaluator.copy.snapshot.pods
    there = np.flatnonzero(copy.scheduler.occupancy.where == node).tolist()
    free = [
        pod
        for pod in there
        if pod not in copy.moved
        and evaluator.refuse_always(pod) is None
        and evaluator.chooser.problem(pod, whole=False) is None
    ]
    return sorted(free, key=lambda pod: (copy.disruptions[pod], pods[pod].key))


class Relief:
    """Who makes room for one pod on nodes that have it by requests, and not by policies."""

    def __init__(self, evaluator: Evaluator, pod: int) -> None:
        self._evaluator, self._copy, self._pod = evaluator, evaluator.copy, pod
        self._source = int(evaluator.copy.snapshot.pod_node[pod])

    def helpers(self) -> Iterator[tuple[int, ...]]:
        """For each node who leaves it before the pod comes: one of those that relieve it most.

        Only where both together gain, as far as policies tell.
        """
        copy, pod = self._copy, self._pod
        nodes = self._open(pod)
        change = self._change(pod, nodes)
        for place in self._order(nodes, change)[:_MOST_TARGETS]:
            if self._evaluator.ended():
                return
            target, alone = int(nodes[place]), float(change[place])
            shift = Shift(pod, self._source, target)
            places = {helper: self._open(helper) for helper in self._relieving_pods(shift, alone)}
            with copy.try_shift(shift):
                total = {
                    helper: alone + float(self._change(helper, open_to).min(initial=np.inf))
                    for helper, open_to in places.items()
                }
            for helper in sorted(total, key=total.__getitem__)[:_MOST_HELPERS]:
                if total[helper] < -NOTHING:
                    yield (helper,)

    def _relieving_pods(self, shift: Shift, alone: float) -> list[int]:
        """Who takes away enough of what the pod costs at its target, the most first.

        alone: the change of the cost by the pod alone.
        """
        copy = self._copy
        free = np.array(free_on(self._evaluator, shift.destination), dtype=np.int32)
        if not len(free):
            return []
        with copy.try_shift(shift):
            relief = greatest(copy, free, steered=True)
        order = np.argsort(-relief, kind="stable")[:_MOST_TRIED]
        pods: list[int] = free[order[alone - relief[order] < -NOTHING]].tolist()
        return pods

    def _open(self, pod: int) -> IntArray:
        """The nodes with room for it by requests, where it would not be known to be too much.

        Of the pod itself also those where it is too much.
        """
        copy = self._copy
        answer = copy.scheduler.feasible(pod) & ~copy.eligibility.places.avoided_for(pod)
        answer[int(copy.scheduler.occupancy.where[pod])] = False
        if pod != self._pod:
            for binding in copy.active:
                if binding.fills:
                    nodes = np.flatnonzero(answer).astype(np.int32)
                    answer[nodes] &= ~binding.overfills(pod, nodes)
        return np.flatnonzero(answer).astype(np.int32)

    def _change(self, pod: int, nodes: IntArray) -> FloatArray:
        return sum(self._copy.changes(pod, nodes).values(), np.zeros(len(nodes)))

    def _order(self, nodes: IntArray, change: FloatArray) -> list[int]:
        """Their places: where the pod costs least first, then by the seed."""
        order: list[int] = np.lexsort((self._copy.precedence[nodes], change.round(9))).tolist()
        return order

"""Swaps and chains: a pod makes room on a node, and another one, stuck where it is, takes it.

On a full cluster no single move is possible where it would help. Here one pod, or a few, leave a
node for places that are no worse or little worse, so that the pod that gains can come. Where one
of them goes to the node that the other leaves, it is a swap. Each move is possible in the state
that those before it have made, so the cluster is whole after any of them, and no pod waits for
room that is not there yet. Room is what requests leave, and what policies would charge: measured
load, pods of one domain, NUMA zones.
"""

from collections.abc import Iterator, Mapping
from heapq import nsmallest
from itertools import islice

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.evaluation.evaluation import NOTHING
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.search.relief_moves import Relief, free_on
from rescheduler.planning.search.strategy import Candidate

_STUCK = frozenset({"FEA001", "FEA002", "FEA003", "FEA009", "FEA011", "MRG001", "MRG002"})
"""Refusals of a single move that room elsewhere may overcome."""
_MOST_TRIED = 256
_MOST_STUCK = 16
_MOST_TARGETS = 4
_MOST_HELPERS = 3
"""How many are tried: of the pods that would gain most those that are stuck, nodes for each of
them, and ways to make room there."""
_MOST_CANDIDATES = 256
"""How many chains are evaluated in one state."""


class Chains:
    """Each pod that is stuck, behind pods that make room for it.

    Only where moves are steered: what makes room must not land where it is in the way.
    """

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """For the pods that could gain most: those that leave first, then the pod itself."""
        if evaluator.chooser.is_steering:
            yield from islice(self._chains(evaluator), _MOST_CANDIDATES)

    def _chains(self, evaluator: Evaluator) -> Iterator[Candidate]:
        best = evaluator.bounds().best
        for pod in self._stuck_pods(evaluator)[:_MOST_STUCK]:
            for target in self._targets(evaluator, pod):
                for helpers in self._helpers(evaluator, pod, target):
                    yield _candidate(best, (*helpers, pod))
            for helpers in Relief(evaluator, pod).helpers():
                yield _candidate(best, (*helpers, pod))

    def _stuck_pods(self, evaluator: Evaluator) -> list[int]:
        """The pods that gain nothing alone, those first that could gain most."""
        copy, best, gate = evaluator.copy, evaluator.bounds().best, evaluator.bounds().gate
        order = nsmallest(
            _MOST_TRIED, best, key=lambda pod: (-best[pod], copy.snapshot.pods[pod].key)
        )
        stuck: list[int] = []
        for pod in order:
            if evaluator.ended():
                return []
            # At least two pods move, whose worth the gate asks for.
            if len(stuck) == _MOST_STUCK or gate.refusal(
                best[pod], copy.disruptions[pod], moves=2, landed=False
            ):
                break
            refusal = evaluator.evaluate((pod,)).refusal
            if refusal is not None and refusal.code in _STUCK:
                stuck.append(pod)
        return stuck

    def _targets(self, evaluator: Evaluator, pod: int, *, helps: bool = False) -> list[int]:
        """The nodes where it would gain most if there were room; lose least, if it only helps.

        None once the search has ended, so that no chain is looked for any more.
        """
        if evaluator.ended():
            return []
        copy = evaluator.copy
        open_to = copy.scheduler.open_to(pod) & ~copy.scheduler.feasible(pod)
        open_to &= ~copy.eligibility.places.avoided_for(pod)
        open_to[int(copy.snapshot.pod_node[pod])] = False
        nodes = np.flatnonzero(open_to).astype(np.int32)
        changes = copy.changes(pod, nodes)
        gains = -sum(changes.values(), np.zeros(len(nodes)))
        names = copy.snapshot.nodes
        order = sorted(
            np.flatnonzero((gains > NOTHING) | helps).tolist(),
            key=lambda position: (
                -round(float(gains[position]), 9),
                names[nodes[position]].metadata.name,
            ),
        )
        return [int(nodes[position]) for position in order[:_MOST_TARGETS]]

    def _helpers(
        self, evaluator: Evaluator, pod: int, target: int, *, deeper: bool = True
    ) -> Iterator[tuple[int, ...]]:
        """Pods of the target whose leaving makes room, the least disruption first.

        One of them is enough where that is possible; else as few as make room together.
        deeper: whether a pod that has nowhere to go itself may have others make room for it.
        """
        free = free_on(evaluator, target)
        if not free:
            return
        lacking, gives = self._shortage(evaluator, pod, target, np.array(free, dtype=np.int32))
        alone = [
            helper
            for helper, amounts in zip(free, gives.T, strict=True)
            if (amounts >= lacking).all()
        ]
        for helper in alone[:_MOST_HELPERS]:
            yield from self._helper_chains(evaluator, helper, pod, target, deeper=deeper)
        if alone:
            return
        largest = np.argsort(-(gives / np.maximum(lacking, 1)[:, None]).sum(axis=0), kind="stable")
        for count in range(2, _MOST_HELPERS + 1):
            if count <= len(free) and (gives[:, largest[:count]].sum(axis=1) >= lacking).all():
                yield tuple(free[helper] for helper in largest[:count].tolist())
                return

    def _helper_chains(
        self, evaluator: Evaluator, helper: int, pod: int, target: int, *, deeper: bool
    ) -> Iterator[tuple[int, ...]]:
        """The helper alone; where it has nowhere to go, those before it that make room for it."""
        places = evaluator.copy.scheduler.feasible(helper)
        places[target] = False
        if places.any():
            yield (helper,)
        elif deeper:
            for node in self._targets(evaluator, helper, helps=True):
                for first in self._helpers(evaluator, helper, node, deeper=False):
                    if pod not in first:
                        yield (*first, helper)

    @staticmethod
    def _shortage(
        evaluator: Evaluator, pod: int, target: int, others: IntArray
    ) -> tuple[IntArray, IntArray]:
        """(resources,) what the pod lacks on the target, and (resources, k) what others give.

        Only of what it lacks; nothing where it is something else than room that keeps it away.
        """
        state = evaluator.copy.scheduler.occupancy
        lacking, gives = [], []
        mine = np.array([pod], dtype=np.int32)
        for row in range(len(state.resources)):
            free = int(state.allocatable[row, target] - state.requested[row, target])
            wanted = int(state.replacement_amounts(row, mine)[0])
            short = wanted - free
            if short > 0 and wanted > 0:
                lacking.append(short)
                gives.append(state.taken_amounts(row, others))
        if not lacking:
            return np.zeros(0, dtype=np.int32), np.zeros((0, len(others)), dtype=np.int32)
        return np.array(lacking), np.stack(gives)


def _candidate(best: Mapping[int, float], pods: tuple[int, ...]) -> Candidate:
    """All of them gain at most what each could by itself."""
    return Candidate(pods, best[pods[-1]] + sum(max(0.0, best.get(pod, 0.0)) for pod in pods[:-1]))

"""Reverse moves: whether a move only undoes another one of the same workload (MRG003)."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.evaluation import Evaluation

_Way = tuple[str, str, str]
"""Workload UID, and the names of the nodes from and to which a pod of it goes."""


class Reversals:
    """The ways that pods of each workload went within the last day, and go in this plan."""

    def __init__(self, snapshot: Snapshot, history: History) -> None:
        self._snapshot = snapshot
        self._past: set[_Way] = {
            (move.workload, move.landedOn, move.source)
            for move in history.recent(snapshot.taken)
            if move.charged and move.landedOn
        }
        self._planned: Counter[_Way] = Counter()

    def refusal(self, moves: Iterable[Evaluation]) -> Problem | None:
        """MRG003 where one of these moves goes the way back of another one, or of one of them."""
        together: set[_Way] = set()
        for move in moves:
            way = self._way(move.pod, move.source, move.destination)
            if way in self._past or self._planned[way] or way in together:
                return Problem(
                    code="MRG003",
                    message=f"a pod of its workload was moved from {way[2]} to {way[1]} within the "
                    "last day or in this plan, and this move would undo it",
                )
            together.add(self._way_back(move))
        return None

    def forbidden_nodes(self, pod: int, source: int) -> IntArray:
        """The nodes to which a pod of its workload must not go from there."""
        start = self._snapshot.nodes[source].metadata.name
        workload = int(self._snapshot.pod_workload[pod])
        uid = self._snapshot.workloads[workload].uid if workload >= 0 else ""
        index = self._snapshot.node_index
        planned = {way for way, count in self._planned.items() if count}
        ends = [way[2] for way in self._past | planned if way[:2] == (uid, start)]
        return np.array([index[end] for end in ends if end in index], dtype=np.int32)

    def commit(self, move: Evaluation) -> None:
        """Remember a move of the plan."""
        self._planned[self._way_back(move)] += 1

    def take_back(self, move: Evaluation) -> None:
        """Forget a move of the plan."""
        self._planned[self._way_back(move)] -= 1

    def _way_back(self, move: Evaluation) -> _Way:
        return self._way(move.pod, move.destination, move.source)

    def _way(self, pod: int, start: int, end: int) -> _Way:
        nodes = self._snapshot.nodes
        workload = int(self._snapshot.pod_workload[pod])
        uid = self._snapshot.workloads[workload].uid if workload >= 0 else ""
        return (uid, nodes[start].metadata.name, nodes[end].metadata.name)

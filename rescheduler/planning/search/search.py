"""The search: the best single move, again and again, on a working copy."""

import heapq
from dataclasses import dataclass, field

from rescheduler.model.problem import Problem
from rescheduler.planning.search.bounds import Survey
from rescheduler.planning.search.evaluation import Evaluation
from rescheduler.planning.search.workspace import Workspace

_UNJUDGED = -1
_Key = tuple[float, float, bytes]


@dataclass(slots=True)
class Found:
    """What a search found. moves: in their order. refusals: every other candidate, and why."""

    moves: list[Evaluation] = field(default_factory=list)
    refusals: dict[int, Problem] = field(default_factory=dict)


def search(workspace: Workspace) -> Found:
    """The moves of one pass, committed in the workspace, until nothing more passes the gate.

    Greedy and lazy: candidates wait in a heap by the most that they could gain per disruption; the
    first is judged, and taken if no other could be better. A round that took something is followed
    by another, because each move changes what the rest is worth; so at the end every candidate was
    refused in the very state that the plan leads to, and planning again there proposes nothing.
    Then moves that others made needless are taken back, and the search goes on: what was taken back
    may be worth it again, but a pod that was needless twice stays, so that the search ends.
    """
    found = Found()
    dropped: dict[int, Problem] = {}
    once: set[int] = set()
    while True:
        while _round(workspace, found, dropped):
            pass
        needless = _prune(workspace, found)
        dropped.update((pod, code) for pod, code in needless.items() if pod in once)
        once.update(needless)
        found.refusals.update(dropped)
        if not needless:
            return found


def _round(workspace: Workspace, found: Found, dropped: dict[int, Problem]) -> bool:
    """Take what passes; answers whether another round could find more."""
    survey = workspace.survey()
    found.refusals.update(survey.refusals)
    heap = _waiting(workspace, survey, found, dropped)
    version = taken = 0
    judged: dict[int, Evaluation] = {}
    while heap:
        key, pod, stamp = heapq.heappop(heap)
        closed = workspace.budgets.closed()
        if closed is not None:
            found.refusals.update(dict.fromkeys([pod, *(each[1] for each in heap)], closed))
            return False
        if stamp != version:
            evaluation = workspace.judge(pod)
            if evaluation.refusal is not None:
                found.refusals[pod] = evaluation.refusal
                continue
            judged[pod] = evaluation
            key = _key(workspace, evaluation.value, evaluation.disruption, pod)
            if heap and heap[0][0] < key:
                heapq.heappush(heap, (key, pod, version))
                continue
        found.moves.append(workspace.commit(judged[pod]))
        found.refusals.pop(pod, None)
        version += 1
        taken += 1
    return taken > 0


def _waiting(
    workspace: Workspace, survey: Survey, found: Found, dropped: dict[int, Problem]
) -> list[tuple[_Key, int, int]]:
    """The candidates whose bound passes the gate, as a heap; the others are refused by it."""
    heap: list[tuple[_Key, int, int]] = []
    for pod, bound in survey.bounds.items():
        if pod in dropped:
            continue
        disruption = survey.disruptions.get(pod, 1.0)
        refusal = survey.gate.refusal(bound, disruption, landed=False)
        if refusal is not None:
            found.refusals[pod] = refusal
        else:
            heap.append((_key(workspace, bound / disruption, disruption, pod), pod, _UNJUDGED))
    heapq.heapify(heap)
    return heap


def _key(workspace: Workspace, value: float, disruption: float, pod: int) -> _Key:
    """Best first: value, then the smaller disruption, then the seed. Rounded, so equals tie."""
    uid = workspace.snapshot.pods[pod].metadata.uid
    return (-round(value, 9), round(disruption, 9), workspace.tie_break(uid))


def _prune(workspace: Workspace, found: Found) -> dict[int, Problem]:
    """Take back the moves, last first, without which the cost would be no higher."""
    dropped: dict[int, Problem] = {}
    for evaluation in reversed(found.moves):
        if workspace.needless(evaluation):
            workspace.take_back(evaluation)
            dropped[evaluation.pod] = Problem(
                code="FEA003", message="other moves of this plan make its move needless"
            )
    found.moves = [move for move in found.moves if move.pod not in dropped]
    return dropped

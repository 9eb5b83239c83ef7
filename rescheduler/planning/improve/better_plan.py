"""Compares the plan of the search with one that annealing proposes, and keeps the better.

A search that takes the best move, again and again, ends where no single move, swap or short chain
gains any more. Annealing goes on from there: it gives up moves and makes others, many that gain
only together. It knows room and costs, and neither landings nor all rules, so its moves are a
proposal. The search is made once more with the proposal first, each move evaluated and gated like
any other, and the better plan is kept.
"""

from collections.abc import Iterable

import numpy as np
from msgspec import structs

from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluation import NOTHING, Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.annealing_choice import choose_annealing
from rescheduler.planning.improve.budget_rule import Allotted
from rescheduler.planning.improve.compiled_placement import compile_placement
from rescheduler.planning.improve.placement import Placement
from rescheduler.planning.improve.placement_rules import Accepted, PlacementRule
from rescheduler.planning.search.search import SearchResult
from rescheduler.planning.search.second_search import WHOLE, search_again
from rescheduler.planning.search.strategy import Proposal

STEPS, STEPS_OF_POD = 40_000, 100
"""How many pods annealing asks where to go for one proposal, and for each that may move, at most.
"""
_WORK_OF_MOVE = 200_000
"""How many nodes are looked at for one proposal, at most, for each move that may be made: what many
moves gain together is worth a longer look than what few do."""
_LEAST_HEAT, _COLD_STEPS = 0.1, 80
"""It begins from a plan that is good already: how much is melted again goes with the number of
steps for each pod, and with so many all may be."""
_ROUNDS = 3
"""So many proposals are made at most, each from the better plan, and without moves of the one
before that the scheduler would not make."""
_MOST_OTHERS = 20_000
"""In a cluster with more pods only those are moved that could gain by it alone."""
_MOST_WORK = 50_000_000
"""Of how many pods times nodes proposals are made: in a larger cluster one takes longer than all
else of a plan, and what it gains with a few moves is small."""
_MOST_MISSED = 0.01
"""A plan that is nearer to the bound than this is as good as the best."""
_LEAST_GAIN = 1e-3
"""What a move counts at least, where temperatures are taken from what moves gain on average."""


def better(
    evaluator: Evaluator, result: SearchResult, effort: Effort, steps: int = STEPS
) -> SearchResult:
    """The result of the search, or that of one with a proposal first, if it is better.

    result: of a search that has just ended on the evaluator's working copy, which then has the
    moves
    of the result that is kept. effort: of both searches together; once half of its time is spent,
    what was found is kept, and the summary says that the time was up. steps: see `STEPS`.
    """
    cut = False

    def is_expired() -> bool:
        nonlocal cut
        cut = cut or effort.half_spent()
        return cut

    kept = _better(evaluator, result, Effort(effort.steps, is_expired), steps)
    if cut and kept.summary is not None:
        kept.summary = structs.replace(kept.summary, stopped="time")
    return kept


def _better(evaluator: Evaluator, result: SearchResult, effort: Effort, steps: int) -> SearchResult:
    summary, gate = result.summary, result.gate
    if summary is None or gate is None or not _improvable(evaluator, result):
        return result
    kept, blocked = result, _BlockedNodes(evaluator)
    for number in range(_ROUNDS):
        spent = 0 if kept.summary is None else kept.summary.steps
        remaining = Effort(effort.steps - spent, effort.expired)
        random = np.random.default_rng([evaluator.copy.seed, number])
        proposal = _proposal(evaluator, kept, remaining, steps, blocked, random)
        if proposal is None:
            break
        evaluator.chooser.astray.clear()
        other = search_again(evaluator, kept, effort, proposal)
        if other is not None and other.summary is not None:
            other.summary = structs.replace(other.summary, singly=summary.gain)
            kept = other
        elif not evaluator.chooser.astray:
            break
        blocked.add(evaluator.chooser.astray)
        if effort.expired() or not _improvable(evaluator, kept):
            break
    return kept


class _BlockedNodes:
    """Nodes where the scheduler would not put pods of a kind though they are steered there."""

    def __init__(self, evaluator: Evaluator) -> None:
        snapshot = evaluator.copy.snapshot
        self._kinds, self._nodes = snapshot.pod_spec, len(snapshot.nodes)
        self._pairs: set[tuple[int, int]] = set()

    def add(self, astray: Iterable[tuple[int, int]]) -> None:
        """Pods and nodes."""
        self._pairs.update((int(self._kinds[pod]), node) for pod, node in astray)

    def rules(self) -> list[PlacementRule]:
        """As a rule of a placement, if there are any."""
        if not self._pairs:
            return []
        kinds = sorted({kind for kind, _ in self._pairs})
        masks = np.ones((len(kinds) + 1, self._nodes), dtype=np.bool_)
        for kind, node in self._pairs:
            masks[kinds.index(kind), node] = False
        place = np.full(int(self._kinds.max()) + 1, len(kinds), dtype=np.int32)
        place[kinds] = np.arange(len(kinds))
        return [Accepted(masks, place[self._kinds])]


def _improvable(evaluator: Evaluator, result: SearchResult) -> bool:
    """Whether destinations are chosen, the search came to its end, and there is more to gain."""
    summary, snapshot = result.summary, evaluator.copy.snapshot
    if summary is None or summary.stopped not in WHOLE or not evaluator.chooser.is_steering:
        return False
    if len(snapshot.pods) * len(snapshot.nodes) > _MOST_WORK:
        return False
    if summary.stopped == "full":
        return len(result.moves) > 1 and (summary.within or 0.0) > _MOST_MISSED
    return bool(result.moves) and evaluator.copy.cost() > NOTHING


def _proposal(
    evaluator: Evaluator,
    result: SearchResult,
    effort: Effort,
    steps: int,
    blocked: _BlockedNodes,
    random: np.random.Generator,
) -> Proposal | None:
    """Where annealing would have the pods go instead; None where it finds nothing better."""
    alone = [move for move in result.moves if not move.group and not move.room]
    if not alone:
        return None
    copy, placement = evaluator.copy, _placement(evaluator, alone, blocked.rules())
    if isinstance(placement, Problem) or not placement.moved:
        return None
    moves = copy.budgets.remaining_moves() + len(placement.moved)
    work = int(min(moves, steps) * _WORK_OF_MOVE / len(copy.snapshot.nodes))
    before, most = placement.cost(), min(steps, STEPS_OF_POD * len(placement.movable), work)
    task = Task(
        placement,
        moves,
        [max(move.gain - copy.limits.margin, _LEAST_GAIN) for move in alone],
        random,
        lambda count: 1.0 if effort.expired() else count / most,
        max(_LEAST_HEAT, min(1.0, most / len(placement.movable) / _COLD_STEPS)),
    )
    annealing = choose_annealing(task)
    annealing.run()
    if annealing.best > before - NOTHING:
        return None
    nodes = {pod: int(placement.where[pod]) for pod in sorted(placement.moved)}
    together = tuple(evaluation.pods for evaluation in result.accepted if evaluation.chain)
    return Proposal(nodes, together)


def _placement(
    evaluator: Evaluator, moves: Iterable[Evaluation], rules: Iterable[PlacementRule] = ()
) -> Placement | Problem:
    """The placement with these moves made, which may be changed, within what budgets allow.

    Beside them those may move that could gain by it alone, wherever they went; and where they are
    not too many all others, too, to make room or change places.
    """
    copy, shifts = evaluator.copy, [move.shift for move in moves]
    gaining = [pod for pod, gain in evaluator.bounds().best.items() if gain > NOTHING]
    where = copy.scheduler.occupancy.where
    only = np.full(len(where), len(where) <= _MOST_OTHERS)
    only[gaining] = True
    only[[shift.pod for shift in shifts]] = True
    home = where.copy()
    for shift in shifts:
        home[shift.pod] = shift.source
    allotted = [
        Allotted(group, remaining, home, where) for group, remaining in copy.budgets.groups()
    ]
    return compile_placement(
        copy, evaluator.chooser, rules=[*allotted, *rules], moved=shifts, only=only
    )

"""The better of two plans: the one that was found move by move, and one that is proposed whole.

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
from rescheduler.planning.improve.allotted import Allotted
from rescheduler.planning.improve.annealed import annealed
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.compiled import compiled
from rescheduler.planning.improve.placement import Placement
from rescheduler.planning.search.search import SearchResult
from rescheduler.planning.search.second_search import WHOLE, search_again
from rescheduler.planning.search.strategy import Proposal

STEPS, STEPS_OF_POD = 4_000, 100
"""How many pods annealing asks where to go for one plan, and for each that may move, at most."""
_HEAT = 0.1
"""It begins from a plan that is good already, so as much is not to be melted again."""
_MOST_MISSED = 0.01
"""A plan that is nearer to the bound than this is as good as the best."""
_LEAST_GAIN = 1e-3
"""What a move counts at least, where temperatures are taken from what moves gain on average."""


def better(
    evaluator: Evaluator, found: SearchResult, effort: Effort, steps: int = STEPS
) -> SearchResult:
    """The result of the search, or that of one with a proposal first, if it is better.

    found: of a search that has just ended on the evaluator's working copy, which then has the moves
    of the result that is kept. effort: of both searches together; once half of its time is spent,
    what was found is kept, and the summary says that the time was up. steps: see `STEPS`.
    """
    cut = False

    def expired() -> bool:
        nonlocal cut
        cut = cut or effort.half_spent()
        return cut

    kept = _better(evaluator, found, Effort(effort.steps, expired), steps)
    if cut and kept.summary is not None:
        kept.summary = structs.replace(kept.summary, stopped="time")
    return kept


def _better(evaluator: Evaluator, found: SearchResult, effort: Effort, steps: int) -> SearchResult:
    summary, gate = found.summary, found.gate
    if summary is None or gate is None or not _improvable(evaluator, found):
        return found
    left = Effort(effort.steps - summary.steps, effort.expired)
    proposal = _proposal(evaluator, found, left, steps)
    if proposal is None:
        return found
    other = search_again(evaluator, found, effort, proposal)
    if other is None or other.summary is None:
        return found
    other.summary = structs.replace(other.summary, singly=summary.gain)
    return other


def _improvable(evaluator: Evaluator, found: SearchResult) -> bool:
    """Whether destinations are chosen, the search came to its end, and there is more to gain."""
    summary = found.summary
    if summary is None or summary.stopped not in WHOLE or not evaluator.chooser.asked:
        return False
    if summary.stopped == "full":
        return len(found.moves) > 1 and (summary.within or 0.0) > _MOST_MISSED
    return bool(found.moves) and evaluator.copy.cost() > NOTHING


def _proposal(
    evaluator: Evaluator, found: SearchResult, effort: Effort, steps: int
) -> Proposal | None:
    """Where annealing would have the pods go instead; None where it finds nothing better."""
    alone = [move for move in found.moves if not move.group and not move.room]
    if not alone:
        return None
    copy, placement = evaluator.copy, _placement(evaluator, alone)
    if isinstance(placement, Problem) or not placement.moved:
        return None
    before, most = placement.cost(), min(steps, STEPS_OF_POD * len(placement.movable))
    task = Task(
        placement,
        copy.budgets.left() + len(placement.moved),
        [max(move.gain - copy.limits.margin, _LEAST_GAIN) for move in alone],
        np.random.default_rng(copy.seed),
        lambda asked: 1.0 if effort.expired() else asked / most,
        _HEAT,
    )
    annealing = annealed(task)
    annealing.run()
    if annealing.best > before - NOTHING:
        return None
    nodes = {pod: int(placement.where[pod]) for pod in sorted(placement.moved)}
    together = tuple(each.pods for each in found.accepted if each.chain)
    return Proposal(nodes, together)


def _placement(evaluator: Evaluator, moves: Iterable[Evaluation]) -> Placement | Problem:
    """The placement with these moves made, which may be changed, within what budgets allow.

    Beside them those may move that could gain by it alone, wherever they went.
    """
    copy, shifts = evaluator.copy, [move.shift for move in moves]
    only = np.zeros(len(copy.snapshot.pods), dtype=np.bool_)
    only[[pod for pod, gain in evaluator.bounds().best.items() if gain > NOTHING]] = True
    only[[shift.pod for shift in shifts]] = True
    where = copy.scheduler.occupancy.where
    home = where.copy()
    for shift in shifts:
        home[shift.pod] = shift.source
    rules = [Allotted(share, left, home, where) for share, left in copy.budgets.shares()]
    return compiled(copy, rules=rules, moved=shifts, only=only)

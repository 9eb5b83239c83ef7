"""A second search in place of what was found, where it finds a better plan."""

from msgspec import structs

from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluation import NOTHING, Gate, JointEvaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.strategy import Proposal

WHOLE = ("complete", "full")
"""How a search stops that was not cut short."""


def search_again(
    evaluator: Evaluator, found: SearchResult, effort: Effort, proposal: Proposal | None = None
) -> SearchResult | None:
    """A search with this proposal, or from nothing, if it is better than what was found; or None.

    found: of a search on the evaluator's working copy, which then has the moves of the better one.
    effort: of both together. A proposal counts only where the search with it comes to its end; one
    from nothing that does counts also where it is as good.
    """
    summary, gate, copy = found.summary, found.gate, evaluator.copy
    if summary is None or gate is None:
        return None
    cost = copy.cost()
    _take_back(copy, found.accepted)
    left = Effort(effort.steps - summary.steps, effort.expired)
    other = search(evaluator, effort=left, proposal=proposal)
    tried = other.summary
    whole = tried is not None and tried.stopped in WHOLE
    pays = _pays(found, other, gate) or (whole and proposal is None and _equal(found, other))
    counts = pays and (whole or proposal is None) and copy.cost() <= cost + NOTHING
    if tried is not None and counts:
        other.summary = structs.replace(tried, steps=summary.steps + tried.steps)
        return other
    _take_back(copy, other.accepted)
    for each in found.accepted:
        copy.commit(each)
    return None


def _take_back(copy: WorkingCopy, accepted: list[JointEvaluation]) -> None:
    for each in reversed(accepted):
        copy.take_back(each)


def _equal(found: SearchResult, other: SearchResult) -> bool:
    gain = sum(move.gain for move in other.moves) - sum(move.gain for move in found.moves)
    return len(other.moves) == len(found.moves) and abs(gain) <= NOTHING


def _pays(found: SearchResult, other: SearchResult, gate: Gate) -> bool:
    """Whether the other plan is better: it gains more, beside the margin of each eviction more.

    What it disrupts more must gain what the gate asks for that. Of two that gain the same the one
    with fewer evictions is better.
    """
    gain = sum(move.gain for move in other.moves) - sum(move.gain for move in found.moves)
    moves = len(other.moves) - len(found.moves)
    disruption = sum(each.disruption for each in other.accepted)
    least = gate.least(max(0.0, disruption - sum(each.disruption for each in found.accepted)))
    if abs(gain) <= NOTHING:
        return moves < 0 and least <= NOTHING
    return gain > max(0, moves) * gate.margin and gain >= least

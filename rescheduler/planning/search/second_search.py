"""A second search in place of what was found, where it finds a better plan."""

from msgspec import structs

from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluation import NOTHING, GainThreshold, JointEvaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.strategy import Proposal

WHOLE = ("complete", "full")
"""How a search stops that was not cut short."""


def search_again(
    evaluator: Evaluator, result: SearchResult, effort: Effort, proposal: Proposal | None = None
) -> SearchResult | None:
    """A search with this proposal, or from nothing, if it is better than the result; or None.

    result: of a search on the evaluator's working copy, which then has the moves of the better one.
    effort: of both together. A proposal counts only where the search with it comes to its end; one
    from nothing that does counts also where it is as good.
    """
    summary, gate, copy = result.summary, result.gate, evaluator.copy
    if summary is None or gate is None:
        return None
    cost = copy.cost()
    _take_back(copy, result.accepted)
    remaining = Effort(effort.steps - summary.steps, effort.expired)
    other = search(evaluator, effort=remaining, proposal=proposal)
    tried = other.summary
    whole = tried is not None and tried.stopped in WHOLE
    pays = _pays(result, other, gate) or (whole and proposal is None and _equal(result, other))
    counts = pays and (whole or proposal is None) and copy.cost() <= cost + NOTHING
    if tried is not None and counts:
        other.summary = structs.replace(tried, steps=summary.steps + tried.steps)
        return other
    _take_back(copy, other.accepted)
    for evaluation in result.accepted:
        copy.commit(evaluation)
    return None


def _take_back(copy: WorkingCopy, accepted: list[JointEvaluation]) -> None:
    for evaluation in reversed(accepted):
        copy.take_back(evaluation)


def _equal(result: SearchResult, other: SearchResult) -> bool:
    gain = sum(move.gain for move in other.moves) - sum(move.gain for move in result.moves)
    return len(other.moves) == len(result.moves) and abs(gain) <= NOTHING


def _pays(result: SearchResult, other: SearchResult, gate: GainThreshold) -> bool:
    """Whether the other plan is better: it gains more, beside the margin of each eviction more.

    What it disrupts more must gain what the gate asks for that. Of two that gain the same the one
    with fewer evictions is better.
    """
    gain = sum(move.gain for move in other.moves) - sum(move.gain for move in result.moves)
    moves = len(other.moves) - len(result.moves)
    disruption = sum(evaluation.disruption for evaluation in other.accepted)
    least = gate.least_gain(
        max(0.0, disruption - sum(evaluation.disruption for evaluation in result.accepted))
    )
    if abs(gain) <= NOTHING:
        return moves < 0 and least <= NOTHING
    return gain > max(0, moves) * gate.margin and gain >= least

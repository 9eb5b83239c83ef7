"""The decision: what moves, and why every other candidate stays, before it is written down."""

from collections import Counter
from dataclasses import dataclass, field

from rescheduler.model.finding_history import Observation
from rescheduler.model.moves.plan import Mode, Plan
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.effort import UNHURRIED, Effort
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.better_plan import better
from rescheduler.planning.limits.guards import active_guards
from rescheduler.planning.search.search import SearchResult
from rescheduler.planning.search.warm_start import last_moves, search_from_last

_SHOWN = frozenset({"GRD012"})
"""Guards under which a plan shows what it would move."""
_HOLDING = {"GRD008": "GRD008", "ELG038": "GRD003", "ELG039": "GRD009", "ELG040": "ELG040"}
"""Of each code with which some moves are held: that of the guard where nothing moves for it."""


@dataclass(slots=True)
class Decision:
    """What was decided on a working copy, which has made the moves.

    passes: the moves of each pass in their order, with the mode they carry. refusals: every other
    candidate, and why. guards: what holds the whole cycle; then no pass is acted on. observations:
    what the policies that wait have found before anything moved, for the next cycle. searches: how
    each pass was searched.
    """

    passes: list[tuple[Mode, list[Evaluation]]] = field(default_factory=list)
    refusals: dict[int, Problem] = field(default_factory=dict)
    guards: list[Problem] = field(default_factory=list)
    observations: tuple[Observation, ...] = ()
    searches: tuple[SearchSummary, ...] = ()


def decide(copy: WorkingCopy, effort: Effort = UNHURRIED, last: Plan | None = None) -> Decision:
    """First the Enforce policies decide alone; then the Audit policies too.

    Where a guard holds, nothing moves and every candidate is refused with the guard's code; where
    it is only that a scheduler was never compared with the model, moves are shown and not made.
    last: the plan before, whose moves are tried first where they would not be found again.
    """
    evaluator = Evaluator(copy)
    observations = evaluator.stability.observations
    guards = guards_on(copy)
    if any(guard.code not in _SHOWN for guard in guards):
        return Decision(refusals=_hold(copy, guards[0]), guards=guards, observations=observations)
    result = _search_pass(evaluator, effort, last)
    searches = [result.summary]
    passes: list[tuple[Mode, list[Evaluation]]] = [("Enforce", result.moves)]
    decision = Decision(passes, result.refusals, guards, observations)
    if copy.start_audit():
        audited = _search_pass(evaluator, effort, last)
        decision.passes.append(("Audit", audited.moves))
        decision.refusals = audited.refusals | decision.refusals
        searches.append(audited.summary)
        for move in audited.moves:
            decision.refusals.pop(move.pod, None)
    if not any(moves for _, moves in decision.passes):
        decision.guards = [*guards, *_holding_all(decision.refusals)]
    decision.searches = tuple(search for search in searches if search is not None)
    return decision


def _holding_all(refusals: dict[int, Problem]) -> list[Problem]:
    """What holds most moves, where nothing moves: Pending pods want the room, or moves went wrong.

    Nobody shall take that for a cluster in which there is nothing to do.
    """
    held = Counter(refusal for refusal in refusals.values() if refusal.code in _HOLDING)
    if not held:
        return []
    (code, message), _ = min(
        (((problem.code, problem.message), count) for problem, count in held.items()),
        key=lambda pair: (-pair[1], pair[0]),
    )
    return [Problem(_HOLDING[code], message)]


def _search_pass(evaluator: Evaluator, effort: Effort, last: Plan | None) -> SearchResult:
    """What one pass moves, in the mode of the working copy."""
    copy = evaluator.copy
    result = search_from_last(evaluator, effort, last_moves(last, copy.snapshot, copy.mode))
    return better(evaluator, result, effort)


def guards_on(copy: WorkingCopy) -> list[Problem]:
    """Every guard that holds on this working copy, as it is."""
    return active_guards(copy.snapshot, copy.bindings, copy.limits, copy.holds, copy.schedulers)


def _hold(copy: WorkingCopy, guard: Problem) -> dict[int, Problem]:
    """Every candidate's refusal while a guard holds: its own reason first, else the guard's."""
    candidates = set(copy.candidates())
    if copy.start_audit():
        candidates.update(copy.candidates())
    return {pod: copy.eligibility.refusal(pod) or guard for pod in sorted(candidates)}

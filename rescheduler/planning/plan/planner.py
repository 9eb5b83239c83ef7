"""The planner: one snapshot in, one plan out; the same input gives the same plan."""

from collections.abc import Callable
from functools import cache

from msgspec import structs

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory, Observation
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Mode, Plan
from rescheduler.model.moves.search_summary import merge_summaries
from rescheduler.planning.evaluation.effort import UNHURRIED, Effort
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.forecast import forecast
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.decision import Decision, decide
from rescheduler.planning.plan.result import Outline, assemble
from rescheduler.planning.plan.views import InitialValues
from rescheduler.planning.suggestions.remedies import Situation
from rescheduler.planning.suggestions.trials import suggestions
from rescheduler.policies.files.policy_set import PolicySet


def plan(
    snapshot: Snapshot,
    policies: PolicySet,
    history: History,
    *,
    mode: Mode,
    seed: int = 0,
    tool: str = "",
    recorded: bool = False,
) -> Plan:
    """The plan where no earlier cycle has left finding history: see `plan_and_observations`."""
    outline = Outline(mode=mode, seed=seed, tool=tool, recorded=recorded)
    return plan_and_observations(snapshot, policies, history, FindingHistory(), outline)[0]


def plan_and_observations(
    snapshot: Snapshot,
    policies: PolicySet,
    history: History,
    finding_history: FindingHistory,
    outline: Outline,
    effort: Callable[[], Effort] = lambda: UNHURRIED,
    last: Plan | None = None,
) -> tuple[Plan, tuple[Observation, ...]]:
    """What to move, and why everything else is left alone.

    First the Enforce policies decide alone; then the Audit policies too, whose further moves are
    shown and never acted on. The mode is only written down: the moves and the digest do not depend
    on it. Where a guard holds, nothing moves and every candidate is refused with the guard's code.

    finding history: since when earlier cycles have had each finding. Answers also what the policies
    that wait have found now, for the next cycle. effort: called when the search begins; where it
    ends the search, the plan has the best of what was evaluated until then, and says so; what is
    tried for suggestions ends by the same clock. last: the plan before; where its search ended
    early, or had a proposal, this one goes on from its moves.
    """
    begun = cache(effort)
    made, copy, decision = _plan_once(
        snapshot, policies, history, finding_history, outline, begun, last
    )

    acts = outline.mode == "Enforce" and any(move.mode == "Enforce" for move in made.moves)
    if acts or not outline.suggests:
        return made, decision.observations

    def plan_again(other: Snapshot, changed: PolicySet) -> Plan:
        return _plan_once(other, changed, history, finding_history, outline, begun, last)[0]

    situation = Situation(made, policies, copy, decision.refusals)
    made = structs.replace(made, suggestions=suggestions(situation, plan_again))
    return made, decision.observations


def _plan_once(
    snapshot: Snapshot,
    policies: PolicySet,
    history: History,
    finding_history: FindingHistory,
    outline: Outline,
    effort: Callable[[], Effort],
    last: Plan | None,
) -> tuple[Plan, WorkingCopy, Decision]:
    """A plan without suggestions, with the working copy that it was made on."""
    copy = WorkingCopy(
        snapshot,
        policies.policies,
        policies.limits,
        history,
        seed=outline.seed,
        schedulers=policies.schedulers,
        finding_history=finding_history,
        attended=outline.attended,
    )
    before = InitialValues.from_bindings(copy.bindings, copy.snapshot)
    decision = decide(copy, effort(), last)
    passes = with_landings(copy, decision.passes)
    made = assemble(
        copy,
        policies,
        before,
        passes,
        decision.refusals,
        decision.guards,
        outline,
        search=merge_summaries(decision.searches),
    )
    return made, copy, decision


def with_landings(
    copy: WorkingCopy, passes: list[tuple[Mode, list[Evaluation]]]
) -> list[tuple[Mode, list[Evaluation]]]:
    """The passes' moves with the landings that a plan may publish."""
    names = [node.metadata.name for node in copy.snapshot.nodes]
    moves = [move for _, pass_moves in passes for move in pass_moves]
    predicted = iter(forecast(copy.scheduler, moves, names=names, seed=copy.seed))
    return [(mode, [next(predicted) for _ in moves]) for mode, moves in passes]

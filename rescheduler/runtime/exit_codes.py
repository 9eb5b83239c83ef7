"""Exit codes of plans and outcomes.

0   done, or held on purpose
1   data or setup is at fault, or acting broke off: somebody must look
3   moves were held by a guard, refused, late, or not all tried, also as their policy is demoted
4   with `--exit-code`: moves are proposed
5   everything in a plan that was to be applied had drifted
7   with `--exit-code`: something is wrong, and no move that may be made mends it
8   with `--exit-code`: nothing is judged, so nobody knows whether anything is wrong
"""

from rescheduler.acting.run import DONE
from rescheduler.model.errors import PlanDrifted
from rescheduler.model.moves.past_move import UNREADABLE
from rescheduler.model.moves.plan import Outcome, Plan, PolicyResult, Report, plan_in
from rescheduler.model.reasons import UNREPLACED

FAULT, UNDONE, PROPOSED, POWERLESS, NOT_JUDGED = 1, 3, 4, 7, 8

_ON_PURPOSE = frozenset({"GRD005", "GRD006"})
"""Verdicts of a run in which nothing was to be done: another instance leads, or people paused."""
_AT_FAULT = frozenset({"GRD004", "GRD007", "GRD010", "GRD011", "ACT015", "ACT016"})
"""Verdicts and guards for the state, a clock, the scheduler, the nodes, the lock, or the metrics.

Every other guard is about the cluster or about what our moves did to it.
"""
ABSENT = "RDG017"
"""Of what cannot be judged as the cluster does not have it: that is no fault, and it is said."""
NOTED = frozenset(
    {"STR001", "STR002", "STR005", "STR007", "STR014", "STB003", "ACT022", "GRD004", "DAT004"}
)
"""Notes on steering without effect, on pods that it keeps Pending, on a taint of ours that nothing
takes off, on findings that cannot be remembered, on gangs of Kueue that are left alone as the right
to stop them is missing, on a damaged state that a plan could not use, and on pods that are left
alone as a kind of object is served and could not be listed."""


def exit_code(report: Report, *, proposed: bool = False, applying: bool = False) -> int:
    """The exit code of a run that ended with this plan or outcome.

    proposed: whether a plan with moves has a code of its own (4), and of those without one that
    is powerless (7) or judges nothing (8).
    applying: whether a person requested just these moves, so that another instance that holds the
    lock is no reason to be content.
    """
    plan = plan_in(report)
    if isinstance(report, Outcome):
        code = _of_outcome(report, applying=applying)
        if code:
            return code
    if any(policy.problem is not None for policy in plan.policies) and not _only_absent(plan):
        return FAULT
    if any(note.code in NOTED for note in plan.notes):
        return FAULT
    if isinstance(report, Outcome) and any(demoted_now(policy, plan) for policy in plan.policies):
        return UNDONE
    if any(note.code == UNREADABLE for note in plan.notes):
        return UNDONE
    if report is plan and plan.guards:
        return _of_verdict(plan.guards[0].code)
    return _of_proposal(plan) if proposed and report is plan else 0


def _of_proposal(plan: Plan) -> int:
    if plan.moves:
        return PROPOSED
    state = None if plan.assessment is None else plan.assessment.state
    return {"Powerless": POWERLESS, "NotJudged": NOT_JUDGED}.get(state or "", 0)


def _only_absent(plan: Plan) -> bool:
    """Whether all that is not judged needs an exporter that was never there.

    A run that acts counts on its policies: there it is a fault, as a source may lose its past.
    """
    if plan.mode == "Enforce":
        return False
    problems = [policy.problem for policy in plan.policies]
    problems += [reading.problem for reading in plan.readings]
    return all(problem.code == ABSENT for problem in problems if problem is not None)


def demoted_now(policy: PolicyResult, plan: Plan) -> bool:
    """Whether this cycle has demoted the policy, or did not make moves because it is demoted."""
    since = policy.demoted_since()
    wanted = any(m.mode == "Audit" and m.gains.get(policy.name, 0.0) > 0 for m in plan.moves)
    return bool(since) and (wanted or plan.taken in since)


def _of_verdict(code: str) -> int:
    return FAULT if code in _AT_FAULT else UNDONE


def _of_outcome(outcome: Outcome, *, applying: bool) -> int:
    code, wanted = outcome.verdict.code, outcome.enforced
    if applying and wanted and all(m.code.startswith(("DRF", "ELG")) for m in wanted):
        return PlanDrifted.exit_code
    if code == DONE:
        fine = all(move.result == "evicted" and move.code not in UNREPLACED for move in wanted)
        return 0 if fine else UNDONE
    untried = all(move.result == "skipped" for move in wanted)
    if code in _ON_PURPOSE and untried and not (applying and code == "GRD005"):
        return 0
    return _of_verdict(code)

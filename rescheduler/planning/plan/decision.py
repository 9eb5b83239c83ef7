"""The decision: what moves, and why every other candidate stays, before it is written down."""

from dataclasses import dataclass, field

from rescheduler.model.plan import Mode
from rescheduler.model.problem import Problem
from rescheduler.planning.search.evaluation import Evaluation
from rescheduler.planning.search.search import search
from rescheduler.planning.search.workspace import Workspace


@dataclass(slots=True)
class Decision:
    """What was decided on a working copy, which has made the moves.

    passes: the moves of each pass in their order, with the mode they carry. refusals: every other
    candidate, and why. guards: what holds the whole cycle; then there is no pass.
    """

    passes: list[tuple[Mode, list[Evaluation]]] = field(default_factory=list)
    refusals: dict[int, Problem] = field(default_factory=dict)
    guards: list[Problem] = field(default_factory=list)


def decide(workspace: Workspace) -> Decision:
    """First the Enforce policies decide alone; then the Audit policies too.

    Where a guard holds, nothing moves and every candidate is refused with the guard's code.
    """
    guards = workspace.guards()
    if guards:
        return Decision(refusals=_hold(workspace, guards[0]), guards=guards)
    found = search(workspace)
    decision = Decision([("Enforce", found.moves)], found.refusals)
    if workspace.start_audit():
        audited = search(workspace)
        decision.passes.append(("Audit", audited.moves))
        decision.refusals = audited.refusals | found.refusals
        for move in audited.moves:
            decision.refusals.pop(move.pod, None)
    return decision


def _hold(workspace: Workspace, guard: Problem) -> dict[int, Problem]:
    """Every candidate's refusal while a guard holds: its own reason first, else the guard's."""
    candidates = set(workspace.candidates())
    if workspace.start_audit():
        candidates.update(workspace.candidates())
    return {pod: workspace.eligibility.refusal(pod) or guard for pod in sorted(candidates)}

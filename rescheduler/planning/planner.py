"""The planner: one snapshot in, one plan out; the same input gives the same plan."""

from rescheduler.model.history import History
from rescheduler.model.plan import Mode, Plan
from rescheduler.model.sightings import Look, Sightings
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.decision import decide
from rescheduler.planning.judgement import Judgement
from rescheduler.planning.result import Outline, assemble
from rescheduler.planning.views import Before
from rescheduler.planning.workspace import Workspace
from rescheduler.policies.documents import PolicySet


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
    """The plan where no earlier cycle has left sightings: see `plan_and_looks`."""
    outline = Outline(mode=mode, seed=seed, tool=tool, recorded=recorded)
    return plan_and_looks(snapshot, policies, history, Sightings(), outline)[0]


def plan_and_looks(
    snapshot: Snapshot,
    policies: PolicySet,
    history: History,
    sightings: Sightings,
    outline: Outline,
) -> tuple[Plan, tuple[Look, ...]]:
    """What to move, and why everything else is left alone.

    First the Enforce policies decide alone; then the Audit policies too, whose further moves are
    shown and never acted on. The mode is only written down: the moves and the digest do not depend
    on it. Where a guard holds, nothing moves and every candidate is refused with the guard's code.

    sightings: since when earlier cycles have found trouble. Answers also what the policies that
    wait have found now, for the next cycle.
    """
    workspace = Workspace(
        snapshot,
        policies.policies,
        policies.limits,
        history,
        seed=outline.seed,
        schedulers=policies.schedulers,
        sightings=sightings,
    )
    before = Before.of(workspace.bindings)
    decision = decide(workspace)
    passes = _told(workspace, decision.passes)
    made = assemble(
        workspace, policies, before, passes, decision.refusals, decision.guards, outline
    )
    return made, workspace.stability.looks


def _told(
    workspace: Workspace, passes: list[tuple[Mode, list[Judgement]]]
) -> list[tuple[Mode, list[Judgement]]]:
    """The passes' moves with the landings that a plan may tell."""
    told = iter(workspace.forecast([move for _, moves in passes for move in moves]))
    return [(mode, [next(told) for _ in moves]) for mode, moves in passes]

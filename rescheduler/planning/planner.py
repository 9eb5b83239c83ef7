"""The planner: one snapshot in, one plan out; the same input gives the same plan."""

from rescheduler.model.history import History
from rescheduler.model.plan import Mode, Plan
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
    """What to move, and why everything else is left alone.

    First the Enforce policies decide alone; then the Audit policies too, whose further moves are
    shown and never acted on. `mode` is only written down: the moves and the digest do not depend on
    it. Where a guard holds, nothing moves and every candidate is refused with the guard's code.
    """
    workspace = Workspace(
        snapshot,
        policies.policies,
        policies.limits,
        history,
        seed=seed,
        schedulers=policies.schedulers,
    )
    before = Before.of(workspace.bindings)
    decision = decide(workspace)
    passes = _told(workspace, decision.passes)
    outline = Outline(mode=mode, seed=seed, tool=tool, recorded=recorded)
    return assemble(
        workspace, policies, before, passes, decision.refusals, decision.guards, outline
    )


def _told(
    workspace: Workspace, passes: list[tuple[Mode, list[Judgement]]]
) -> list[tuple[Mode, list[Judgement]]]:
    """The passes' moves with the landings that a plan may tell."""
    told = iter(workspace.forecast([move for _, moves in passes for move in moves]))
    return [(mode, [next(told) for _ in moves]) for mode, moves in passes]

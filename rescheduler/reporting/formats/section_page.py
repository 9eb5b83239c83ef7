"""What a report says of one namespace, as an HTML page for those who own it.

Free text of a report may name objects of others: a PodDisruptionBudget, a pod that hides another
one, a gang. So the page has the namespace's own pods and workloads, nodes, policies, numbers, and
sentences of the catalogue of reason codes, which name nothing.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.plan import MoveResult, Outcome, Plan, PlannedMove, Report, plan_in
from rescheduler.model.wording import clean
from rescheduler.reporting.alerts import advice, sentence
from rescheduler.reporting.formats.page import environment
from rescheduler.reporting.phrasing import percent, stamp


@dataclass(frozen=True)
class SectionMove:
    """A planned move of a pod of the namespace. code: of its result; "": it was not tried."""

    pod: str
    workload: str
    node: str
    expected: str
    policies: str
    code: str


@dataclass(frozen=True)
class SectionRefusal:
    """A pod of the namespace that could move and is left alone, by its reason code."""

    pod: str
    code: str


def render_section(report: Report | None, namespace: str) -> str:
    """The page; without a report it says that there is none."""
    plan = None if report is None else plan_in(report)
    results = report.moves if isinstance(report, Outcome) else ()
    by_pod = {result.pod.uid: result for result in results}
    own = [] if plan is None else [m for m in plan.moves if m.pod.namespace == namespace]
    moves = [_section_move(move, by_pod.get(move.pod.uid)) for move in own]
    refused = [] if plan is None else [r for r in plan.refused if r.pod.namespace == namespace]
    idle = [] if plan is None else _idle_holders(plan, namespace)
    codes = {move.code for move in moves} | {refusal.code for refusal in refused}
    guards = [] if plan is None else sorted({guard.code for guard in plan.guards})
    return (
        environment()
        .get_template("section.html.j2")
        .render(
            namespace=namespace,
            taken="" if plan is None else stamp(plan.taken),
            mode="" if plan is None else plan.mode,
            moves=moves,
            refused=[SectionRefusal(clean(r.pod.name), r.code) for r in refused],
            idle=idle,
            guards=[sentence(code) for code in guards],
            meanings={code: (sentence(code), advice(code)) for code in sorted(codes - {""})},
        )
    )


def _section_move(move: PlannedMove, result: MoveResult | None) -> SectionMove:
    likeliest = max(move.landing, key=lambda share: share.probability, default=None)
    expected = "" if likeliest is None else f"{likeliest.node} {percent(likeliest.probability)}"
    return SectionMove(
        pod=clean(move.pod.name),
        workload=clean(f"{move.owner.kind} {move.owner.name}"),
        node=clean(move.source),
        expected=clean(expected),
        policies=clean(", ".join(sorted(name for name, gain in move.gains.items() if gain > 0))),
        code="" if result is None else result.code,
    )


def _idle_holders(plan: Plan, namespace: str) -> list[IdleHolder]:
    """The owners of the namespace that hold GPUs and hardly use them; each once."""
    holders = [holder for policy in plan.policies for holder in policy.idle]
    own = {holder.owner: holder for holder in holders if holder.namespace == namespace}
    return [replace(own[owner], owner=clean(owner)) for owner in sorted(own)]

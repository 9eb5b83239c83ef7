"""The rows of the tables: policies, moves, and what is left alone, sorted and grouped."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

from rescheduler.model.moves.assessment import AssessmentState
from rescheduler.model.moves.plan import (
    LandingShare,
    MoveResult,
    Outcome,
    Plan,
    PlannedMove,
    PolicyResult,
    Refusal,
    Report,
    plan_in,
)
from rescheduler.model.moves.restart_cost import RestartCost
from rescheduler.model.wording import count_text
from rescheduler.reporting.alerts import advice, sentence
from rescheduler.reporting.move_reasons import coded_text
from rescheduler.reporting.phrasing import age, amount, change, percent

Mark = Literal["good", "bad", "open", "plain"]
"""How a result reads: done as planned, gone wrong, not known, or neither."""

SYMBOLS: dict[Mark, str] = {"good": "ok", "bad": "!", "open": "?", "plain": ""}
"""A sign for each mark, so that color is never the only carrier."""

STATES: dict[AssessmentState, str] = {
    "Healthy": "healthy",
    "NotJudged": "not judged",
    "Powerless": "no move helps",
    "Improvable": "can improve",
}
"""What each state of a policy is called in tables."""
REPORTING = "FEA022"
"""Why a policy is powerless that only reports."""

NEGLIGIBLE = 1e-9
EXAMPLES = 5
NAMED = 3


@dataclass(frozen=True)
class PolicyRow:
    """A policy before and after. Its costs are "-" where it was not evaluated."""

    policy: PolicyResult
    before: str
    after: str
    change: str
    moves: int

    @property
    def state(self) -> str:
        """What it says of the placement: `healthy`; "" in plans of earlier versions."""
        assessment = self.policy.assessment
        if assessment is not None and assessment.why and assessment.why.code == REPORTING:
            return "reports only"
        return "" if assessment is None else STATES[assessment.state]

    @property
    def selects(self) -> str:
        """`431 pods, 60 nodes`: what it matches and selects; "-" in plans of earlier versions."""
        selection = self.policy.selection
        if selection is None:
            return "-"
        nodes = [] if selection.nodes is None else [count_text(selection.nodes, "node")]
        return ", ".join([count_text(selection.pods, "pod"), *nodes])


@dataclass(frozen=True)
class Landed:
    """What became of a move. where: its node as the prediction saw it; ready: time to Ready."""

    result: str
    mark: Mark
    where: str
    ready: str
    why: str


@dataclass(frozen=True)
class MoveRow:
    """A move with its number in the plan, its landing, and what became of it.

    result: None in a plan. landing: the likeliest first, and with `returns` and `unschedulable` as
    predicted when the eviction was sent, or when it was planned. restart: what starts again.
    steered: where it is steered to, by what, and where it would land otherwise.
    """

    number: int
    move: PlannedMove
    result: MoveResult | None
    landing: list[LandingShare]
    returns: float
    unschedulable: float
    why: str
    restart: str
    landed: Landed | None
    steered: str = ""

    @property
    def audit(self) -> bool:
        """Whether only Audit policies want it, so that it is never acted on."""
        return self.move.mode == "Audit"


@dataclass(frozen=True)
class RefusalGroup:
    """The candidates left alone for one reason; examples: at most five of them."""

    code: str
    count: int
    sentence: str
    advice: str
    examples: list[Refusal]


def policy_rows(plan: Plan) -> list[PolicyRow]:
    """The policies that weigh most first; those that were not evaluated at the end."""
    answer = []
    for policy in sorted(plan.policies, key=lambda p: (p.problem is not None, -_stake(p), p.name)):
        gangs = {room.gang for room in policy.room}
        moves = sum(
            move.gains.get(policy.name, 0.0) > NEGLIGIBLE or move.room in gangs
            for move in plan.moves
        )
        before, after = policy.cost.before, policy.cost.after
        if policy.problem is not None:
            answer.append(PolicyRow(policy, "-", "-", "-", moves))
        else:
            answer.append(
                PolicyRow(policy, amount(before), amount(after), change(before, after), moves)
            )
    return answer


def _stake(policy: PolicyResult) -> float:
    return policy.weight * max(policy.cost.before, policy.cost.after)


def move_rows(report: Report) -> list[MoveRow]:
    """The moves in the order in which they are made: by batch, then as planned."""
    moves = plan_in(report).moves
    results: Iterable[MoveResult | None] = repeat(None, len(moves))
    if isinstance(report, Outcome):
        results = report.moves
    ordered = sorted(zip(moves, results, strict=True), key=lambda pair: pair[0].batch)
    return [_row(number, *pair) for number, pair in enumerate(ordered, start=1)]


def _row(number: int, move: PlannedMove, result: MoveResult | None) -> MoveRow:
    forecast = result or move
    return MoveRow(
        number=number,
        move=move,
        result=result,
        landing=sorted(forecast.landing, key=lambda share: (-share.probability, share.node)),
        returns=forecast.returns,
        unschedulable=forecast.unschedulable,
        why="; ".join(coded_text(reason) for reason in move.reasons),
        restart=_restart(move.restart),
        landed=None if result is None else _landing_of(move, result),
        steered=_steering_text(move),
    )


def _steering_text(move: PlannedMove) -> str:
    """`steered to n3, n7 (Require by NAME), else n1 50 %, n2 50 %`; "" unsteered."""
    steering = move.steered
    if steering is None:
        return ""
    where = f"steered to {first_names(steering.nodes)} ({steering.strength} by {steering.by})"
    if steering.shunned:
        where = f"kept off {first_names(steering.shunned)} ({steering.by})"
    if not move.unsteered:
        return f"{where}, else no landing is known"
    return (
        f"{where}, else "
        f"{first_names([f'{s.node} {percent(s.probability)}' for s in move.unsteered])}"
    )


def first_names(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _restart(cost: RestartCost | None) -> str:
    """What starts again: `restart takes 250 s (3 moves), work since checkpoint 12 min`."""
    parts = []
    if cost is not None and cost.readySeconds is not None:
        moves_text = f" ({count_text(cost.moves, 'move')})" if cost.moves else ""
        parts.append(f"restart takes {age(cost.readySeconds)}{moves_text}")
    if cost is not None and cost.workSeconds is not None:
        since = "checkpoint" if cost.checkpoint else "start"
        parts.append(f"work since {since} {age(cost.workSeconds)}")
    return ", ".join(parts)


def _landing_of(move: PlannedMove, result: MoveResult) -> Landed:
    mark, where = _destination(move, result)
    ready = "-" if result.readySeconds is None else age(result.readySeconds)
    explained = mark != "good" or result.message
    why = f"{result.code} {result.message}".strip() if explained else ""
    return Landed(result.result, mark, where, ready, why)


def _destination(move: PlannedMove, result: MoveResult) -> tuple[Mark, str]:
    if result.result == "refused":
        return "bad", "-"
    if result.result != "evicted":
        return "open", "-"
    if not result.landedOn:
        return "bad", "not seen"
    if result.landedOn == move.source:
        return "bad", f"{result.landedOn} came back"
    if result.predicted:
        ready = result.readySeconds is not None
        return ("good" if ready else "bad"), f"{result.landedOn} {_rank(result, result.predicted)}"
    return "bad", f"{result.landedOn} not predicted"


def _rank(result: MoveResult, predicted: float) -> str:
    """Whether the node was the likeliest, or one of several as likely, or another."""
    most = max((share.probability for share in result.landing), default=0.0)
    return "as predicted" if predicted >= most - NEGLIGIBLE else "less likely"


def by_kueue(move: PlannedMove, rows: Iterable[MoveRow]) -> str:
    """How a gang is moved that Kueue runs, with how many pods of these rows; "" for any other."""
    if move.stops is None:
        return ""
    pods = sum(row.move.stops == move.stops for row in rows)
    name = f"{move.pod.namespace}/{move.stops.name}"
    return f": Kueue stops and starts the whole Workload {name} ({count_text(pods, 'pod')})"


def groups(plan: Plan) -> list[RefusalGroup]:
    """What is left alone by reason code, the most frequent first.

    The counts are those of all candidates; the plan may list only some of each as examples.
    """
    listed: dict[str, list[Refusal]] = {}
    for refusal in plan.refused:
        listed.setdefault(refusal.code, []).append(refusal)
    counts = {code: len(refusals) for code, refusals in listed.items()} | plan.totals.refused
    return [
        RefusalGroup(code, count, sentence(code), advice(code), listed.get(code, [])[:EXAMPLES])
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count
    ]

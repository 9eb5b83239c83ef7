"""The rows of the tables: policies, moves, and what is left alone, sorted and grouped."""

from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET

from rescheduler.model.plan import LandingShare, Plan, PlannedMove, PolicyResult, Refusal
from rescheduler.reporting.alerts import advice, sentence
from rescheduler.reporting.phrasing import age, amount, change

Mark = Literal["good", "bad", "open", "plain"]
"""How a result reads: done as planned, gone wrong, not known, or neither."""

SYMBOLS: dict[Mark, str] = {"good": "ok", "bad": "!", "open": "?", "plain": ""}
"""A sign for each mark, so that color is never the only carrier."""

NEGLIGIBLE = 1e-9
EXAMPLES = 5


@dataclass(frozen=True)
class PolicyRow:
    """A policy before and after. change: "no say" where it has a problem."""

    policy: PolicyResult
    before: str
    after: str
    change: str
    moves: int


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
    """A move with its number in the plan, its landing sorted, and what became of it."""

    number: int
    move: PlannedMove
    landing: list[LandingShare]
    why: str
    landed: Landed | None

    @property
    def audit(self) -> bool:
        """Whether only Audit policies want it, so that it is never acted on."""
        return self.move.mode == "Audit"


@dataclass(frozen=True)
class Group:
    """The candidates left alone for one reason; examples: at most five of them."""

    code: str
    count: int
    sentence: str
    advice: str
    examples: list[Refusal]


def policy_rows(plan: Plan) -> list[PolicyRow]:
    """The policies that weigh most first; those without a say at the end."""
    answer = []
    for policy in sorted(plan.policies, key=lambda p: (p.problem is not None, -_stake(p), p.name)):
        moves = sum(move.gains.get(policy.name, 0.0) > NEGLIGIBLE for move in plan.moves)
        before, after = policy.cost.before, policy.cost.after
        if policy.problem is not None:
            answer.append(PolicyRow(policy, "-", "-", "no say", moves))
        else:
            answer.append(
                PolicyRow(policy, amount(before), amount(after), change(before, after), moves)
            )
    return answer


def _stake(policy: PolicyResult) -> float:
    return policy.weight * max(policy.cost.before, policy.cost.after)


def move_rows(plan: Plan) -> list[MoveRow]:
    """The moves in the order in which they are made: by batch, then as planned."""
    ordered = sorted(plan.moves, key=lambda move: move.batch)
    return [
        MoveRow(
            number=number,
            move=move,
            landing=sorted(move.landing, key=lambda share: (-share.probability, share.node)),
            why="; ".join(f"{each.code} {each.message}" for each in move.reasons),
            landed=_landed(move) if plan.kind == "Outcome" else None,
        )
        for number, move in enumerate(ordered, start=1)
    ]


def _landed(move: PlannedMove) -> Landed:
    result = move.result if move.result is not UNSET else "not recorded"
    mark, where = _where(move, result)
    ready = age(move.readySeconds) if isinstance(move.readySeconds, float | int) else "-"
    code = move.code if move.code is not UNSET else ""
    message = move.message if move.message is not UNSET else ""
    why = f"{code} {message}".strip() if mark != "good" or message else ""
    return Landed(result, mark, where, ready, why)


def _where(move: PlannedMove, result: str) -> tuple[Mark, str]:
    if result == "refused":
        return "bad", "-"
    if result != "evicted":
        return "open", "-"
    if not isinstance(move.landedOn, str) or not move.landedOn:
        return "bad", "not seen"
    if move.landedOn == move.source:
        return "bad", f"{move.landedOn} came back"
    ready = isinstance(move.readySeconds, float | int)
    if isinstance(move.predicted, float | int) and move.predicted > 0:
        return ("good" if ready else "bad"), f"{move.landedOn} {_rank(move)}"
    return "bad", f"{move.landedOn} not predicted"


def _rank(move: PlannedMove) -> str:
    """Whether the node was the likeliest, or one of several as likely, or another."""
    most = max((share.probability for share in move.landing), default=0.0)
    likely = isinstance(move.predicted, float | int) and move.predicted >= most - NEGLIGIBLE
    return "as predicted" if likely else "less likely"


def groups(plan: Plan) -> list[Group]:
    """What is left alone by reason code, the most frequent first.

    The counts are those of all candidates; the plan may list only some of each as examples.
    """
    listed: dict[str, list[Refusal]] = {}
    for refusal in plan.refused:
        listed.setdefault(refusal.code, []).append(refusal)
    counts = {code: len(refusals) for code, refusals in listed.items()} | plan.totals.refused
    return [
        Group(code, count, sentence(code), advice(code), listed.get(code, [])[:EXAMPLES])
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count
    ]

"""What earlier moves have brought beside what they promised, as rows of tables."""

from dataclasses import dataclass

from rescheduler.model.moves.plan import GainsResult, MeasuredMove, Plan, PolicyResult
from rescheduler.reporting.phrasing import amount, clock, percent, signed_gain
from rescheduler.reporting.rows import Mark

_NOTHING = "-"


@dataclass(frozen=True)
class GainRow:
    """One policy with what its moves have brought, all of those that count together.

    state: whether its moves help, or it is demoted; until: how long it is, or "".
    """

    policy: PolicyResult
    promised: str
    measured: str
    share: str
    moves: int
    state: str
    until: str
    mark: Mark


@dataclass(frozen=True)
class MeasuredRow:
    """What one move has brought for one policy, or why that is not known (then of all)."""

    move: MeasuredMove
    evicted: str
    policy: str
    promised: str
    measured: str
    note: str
    mark: Mark


def gain_rows(plan: Plan) -> list[GainRow]:
    """The policies whose moves were measured, by name."""
    return [
        _gain_row(policy, policy.brought, plan)
        for policy in sorted(plan.policies, key=lambda result: result.name)
        if policy.brought is not None
    ]


def _gain_row(policy: PolicyResult, gains: GainsResult, plan: Plan) -> GainRow:
    state, until, mark = _state(gains, plan)
    counted = gains.moves > 0
    return GainRow(
        policy=policy,
        promised=amount(gains.promised) if counted else _NOTHING,
        measured=amount(gains.measured) if counted else _NOTHING,
        share=percent(gains.measured / gains.promised) if gains.promised > 0 else _NOTHING,
        moves=gains.moves,
        state=state,
        until=until,
        mark=mark,
    )


def _state(gains: GainsResult, plan: Plan) -> tuple[str, str, Mark]:
    if gains.demotedUntil is not None:
        return "demoted", f"until {clock(gains.demotedUntil, plan.taken)}", "bad"
    if gains.problem is not None:
        return "too little", "", "open"
    return ("helps", "", "good") if gains.moves else ("on probation", "", "plain")


def measured_rows(plan: Plan) -> list[MeasuredRow]:
    """The measured moves, the latest first, with a row for each policy that they were for."""
    return [row for move in plan.measuredMoves for row in _measured_rows(move, plan)]


def _measured_rows(move: MeasuredMove, plan: Plan) -> list[MeasuredRow]:
    evicted = clock(move.evicted, plan.taken)
    if move.problem is not None:
        names = ", ".join(sorted(move.predicted))
        text = f"not measured: {move.problem.message}"
        return [MeasuredRow(move, evicted, names, _NOTHING, _NOTHING, text, "open")]
    return [
        MeasuredRow(
            move=move,
            evicted=evicted,
            policy=name,
            promised=signed_gain(move.promised.get(name, 0.0)),
            measured=signed_gain(gain),
            note="does not count: its cause has gone by itself" if name in move.neutral else "",
            mark="plain" if name in move.neutral else "good" if gain > 0 else "bad",
        )
        for name, gain in sorted(move.measured.items())
    ]

"""The sentence on top: what the plan does, in words that need no other part of the report."""

from collections.abc import Iterator

from rescheduler.model.moves.plan import Outcome, Plan, Report
from rescheduler.model.moves.room import GangRoom
from rescheduler.model.wording import agreed, counted
from rescheduler.reporting.phrasing import percent

_MOST_GANGS = 2
"""Gangs that are named."""
_LEAST = 0.005
"""A smaller share is shown as 0 %."""


def headline(report: Report) -> str:
    """What it does, such as `Moves 12 pods: 5 hot GPUs become 0.`, with what waits and idles.

    Of an outcome what was done, and apart from it what is predicted and what was measured.
    """
    if isinstance(report, Outcome):
        return " ".join(f"{sentence}." for sentence in _done(report))
    told = [*_gains(report), *_waiting(report), *_idle(report)]
    if not report.moves:
        start = "Moves no pod"
    else:
        only = all(move.mode == "Audit" for move in report.moves)
        start = f"{'Would move' if only else 'Moves'} {counted(len(report.moves), 'pod')}"
    return f"{start}: {', '.join(told)}." if told else f"{start}."


def _done(outcome: Outcome) -> Iterator[str]:
    """The sentences on an outcome, without their full stops."""
    plan = outcome.plan
    left = {move.pod.uid: move.source for move in plan.moves}
    evicted = [each for each in outcome.enforced if each.result == "evicted"]
    moved = sum(
        each.readySeconds is not None and each.landedOn not in (None, left[each.pod.uid])
        for each in evicted
    )
    start = "Moved no pod"
    if wanted := len(outcome.enforced):
        start = f"Moved {moved} of {counted(wanted, 'pod')}"
    if more := len(evicted) - moved:
        lacks = "has" if more == 1 else "have"
        start += f", evicted {more} more that {lacks} no Ready replacement on another node"
    told = [*_gains(plan), *_waiting(plan)]
    # What the plan predicts holds for all of its moves.
    whole = moved == len(plan.moves)
    link = "; predicted:" if plan.moves else ":"
    yield f"{start}{link} {', '.join(told)}" if whole and told else start
    if share := _measured(plan):
        yield f"Measured: earlier moves brought {share} of what they promised"
    yield from _idle(plan)


def _measured(plan: Plan) -> str:
    """What was measured of the gain that earlier moves promised, all policies by their weight."""
    known = [(each.weight, each.brought) for each in plan.policies if each.brought is not None]
    promised = sum(weight * gains.promised for weight, gains in known)
    measured = sum(weight * gains.measured for weight, gains in known)
    return percent(measured / promised) if promised > 0 else ""


def _gains(plan: Plan) -> list[str]:
    """What gets better by the moves."""
    return [*_counts(plan), *_gangs(plan), *_shares(plan)] if plan.moves else []


def _counts(plan: Plan) -> list[str]:
    """What there is less of, by the thing."""
    return [
        f"{counted(each.before, each.one, each.many)} "
        f"{agreed(each.before, 'becomes', 'become')} {each.after:,}"
        for each in plan.found
        if each.after < each.before
    ]


def _rooms(plan: Plan) -> list[GangRoom]:
    """Each gang once, though several policies make room for it."""
    return list({room.gang: room for each in plan.policies for room in each.room}.values())


def _gangs(plan: Plan) -> list[str]:
    got = [each for each in _rooms(plan) if each.after and not each.before]
    answer = [f"gang {each.gang} gets {_asked(each)}" for each in got[:_MOST_GANGS]]
    if more := len(got) - len(answer):
        answer.append(f"{counted(more, 'more gang')} {'gets' if more == 1 else 'get'} room")
    return answer


def _asked(room: GangRoom) -> str:
    if room.gpus:
        return f"its {room.gpus:g} {'GPU' if room.gpus == 1 else 'GPUs'}"
    return f"room for its {counted(room.pods, 'pod')}"


def _shares(plan: Plan) -> list[str]:
    """By how much policies find less fault of which nothing else tells, and what stays of it."""
    answer = []
    for each in plan.policies:
        fewer = any(found.after < found.before for found in each.found)
        if each.room or fewer or each.problem is not None or each.cost.before <= 0:
            continue
        less = 1 - each.cost.after / each.cost.before
        if less >= _LEAST:
            text = f"policy {each.name} is {percent(less)} better"
            stays = ", ".join(counted(found.after, found.one, found.many) for found in each.found)
            answer.append(f"{text} (still {stays})" if stays else text)
    return answer


def _waiting(plan: Plan) -> list[str]:
    left = sum(not each.after for each in _rooms(plan))
    return [f"{counted(left, 'gang')} still {'waits' if left == 1 else 'wait'}"] if left else []


def _idle(plan: Plan) -> list[str]:
    """What idle GPUs cost in a day, if it goes on like this; an owner is told once."""
    held = {(i.namespace, i.owner): i for each in plan.policies for i in each.idle}
    hours = sum(each.daily for each in held.values())
    if round(hours) < 1:
        return []
    one = round(hours) == 1
    return [f"{hours:,.0f} GPU-{'hour a day is' if one else 'hours a day are'} idle"]

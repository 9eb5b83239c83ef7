"""The sentence on top: what the plan does, in words that need no other part of the report."""

from collections.abc import Iterator

from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.plan import Outcome, Plan, Report
from rescheduler.model.wording import count_text, verb_for
from rescheduler.reporting.judgement import judgement
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
        return " ".join(f"{sentence}." for sentence in _outcome_sentences(report))
    parts = [*_gains(report), *_waiting_gangs(report), *_idle(report)]
    said = judgement(report)
    if not report.moves and said is not None:
        sentence = f"{said.label.capitalize()}: {said.sentence}"
        return f"{sentence} {_sentence(parts)}" if parts else sentence
    if not report.moves:
        start = "Moves no pod"
    else:
        only = all(move.mode == "Audit" for move in report.moves)
        start = f"{'Would move' if only else 'Moves'} {count_text(len(report.moves), 'pod')}"
    return f"{start}: {', '.join(parts)}." if parts else f"{start}."


def _sentence(parts: list[str]) -> str:
    whole = ", ".join(parts)
    return f"{whole[:1].upper()}{whole[1:]}."


def _outcome_sentences(outcome: Outcome) -> Iterator[str]:
    """The sentences on an outcome, without their full stops."""
    plan = outcome.plan
    sources = {move.pod.uid: move.source for move in plan.moves}
    evicted = [result for result in outcome.enforced if result.result == "evicted"]
    moved = sum(
        result.readySeconds is not None and result.landedOn not in (None, sources[result.pod.uid])
        for result in evicted
    )
    start = "Moved no pod"
    if wanted := len(outcome.enforced):
        start = f"Moved {moved} of {count_text(wanted, 'pod')}"
    if more := len(evicted) - moved:
        lacks = "has" if more == 1 else "have"
        start += f", evicted {more} more that {lacks} no Ready replacement on another node"
    parts = [*_gains(plan), *_waiting_gangs(plan)]
    # What the plan predicts holds for all of its moves.
    whole = moved == len(plan.moves)
    link = "; predicted:" if plan.moves else ":"
    yield f"{start}{link} {', '.join(parts)}" if whole and parts else start
    if share := _measured_share(plan):
        yield f"Measured: earlier moves brought {share} of what they promised"
    yield from _idle(plan)


def _measured_share(plan: Plan) -> str:
    """What was measured of the gain that earlier moves promised, all policies by their weight."""
    weighted_gains = [
        (policy.weight, policy.brought) for policy in plan.policies if policy.brought is not None
    ]
    promised = sum(weight * gains.promised for weight, gains in weighted_gains)
    measured = sum(weight * gains.measured for weight, gains in weighted_gains)
    return percent(measured / promised) if promised > 0 else ""


def _gains(plan: Plan) -> list[str]:
    """What gets better by the moves."""
    return [*_counts(plan), *_gangs(plan), *_shares(plan)] if plan.moves else []


def _counts(plan: Plan) -> list[str]:
    """What there is less of, by the thing."""
    return [
        f"{count_text(count.before, count.one, count.many)} "
        f"{verb_for(count.before, 'becomes', 'become')} {count.after:,}"
        for count in plan.counts
        if count.after < count.before
    ]


def _gang_rooms(plan: Plan) -> list[GangRoom]:
    """Each gang once, though several policies make room for it."""
    return list({room.gang: room for policy in plan.policies for room in policy.room}.values())


def _gangs(plan: Plan) -> list[str]:
    got = [room for room in _gang_rooms(plan) if room.after and not room.before]
    answer = [f"gang {room.gang} gets {_requested_room(room)}" for room in got[:_MOST_GANGS]]
    if more := len(got) - len(answer):
        answer.append(f"{count_text(more, 'more gang')} {'gets' if more == 1 else 'get'} room")
    return answer


def _requested_room(room: GangRoom) -> str:
    if room.gpus:
        return f"its {room.gpus:g} {'GPU' if room.gpus == 1 else 'GPUs'}"
    return f"room for its {count_text(room.pods, 'pod')}"


def _shares(plan: Plan) -> list[str]:
    """How much the costs fall that no other part of the headline names, and what remains."""
    answer = []
    for policy in plan.policies:
        fewer = any(count.after < count.before for count in policy.counts)
        if policy.room or fewer or policy.problem is not None or policy.cost.before <= 0:
            continue
        less = 1 - policy.cost.after / policy.cost.before
        if less >= _LEAST:
            text = f"policy {policy.name} is {percent(less)} better"
            stays = ", ".join(
                count_text(count.after, count.one, count.many) for count in policy.counts
            )
            answer.append(f"{text} (still {stays})" if stays else text)
    return answer


def _waiting_gangs(plan: Plan) -> list[str]:
    waiting_count = sum(not room.after for room in _gang_rooms(plan))
    return (
        [f"{count_text(waiting_count, 'gang')} still {'waits' if waiting_count == 1 else 'wait'}"]
        if waiting_count
        else []
    )


def _idle(plan: Plan) -> list[str]:
    """What idle GPUs cost in a day, if it goes on like this; each owner is named once."""
    held = {(i.namespace, i.owner): i for policy in plan.policies for i in policy.idle}
    hours = sum(holder.daily for holder in held.values())
    if round(hours) < 1:
        return []
    one = round(hours) == 1
    return [f"{hours:,.0f} GPU-{'hour a day is' if one else 'hours a day are'} idle"]

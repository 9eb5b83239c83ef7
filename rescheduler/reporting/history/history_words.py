"""What table and page say of a history, so that both say it alike."""

import re
from datetime import timedelta

from rescheduler.model.reasons import UNREPLACED
from rescheduler.model.trails.trail_history import PastStep, Prevented, TrailHistory
from rescheduler.model.wording import count_text, verb_for
from rescheduler.reporting.move_reasons import coded_text
from rescheduler.reporting.phrasing import UNKNOWN, age, amount, percent, signed_gain, stamp
from rescheduler.reporting.view import Fact

Mark = str
"""good, bad or open: what a result means for who reads it."""

SYMBOLS = {"good": "\N{CHECK MARK}", "bad": "\N{BLACK UP-POINTING TRIANGLE}", "open": "\N{BULLET}"}

STAGES = {
    "guard": "Whole cycles held",
    "eviction": "Moves of a plan not made",
    "planning": "Candidates left alone",
}

_MISSED = {
    "ACT018": "restarts",
    "ACT019": "still there",
    "ACT020": "was Pending",
    "ACT023": "not readable",
}
"""What is said of moves that are not just late."""

_NO_MOVE = "No eviction was tried."


def mark(step: PastStep) -> Mark:
    """Whether it went as it should."""
    if step.result != "evicted":
        return "open"
    if came_back(step) or step.code in UNREPLACED:
        return "bad"
    return "good" if step.readySeconds is not None and not _is_elsewhere(step) else "open"


def _is_elsewhere(step: PastStep) -> bool:
    return step.predicted == 0.0


def came_back(step: PastStep) -> bool:
    """Whether the replacement came back to the node that the pod had left."""
    return bool(step.landedOn) and step.landedOn == step.source


def outcome(step: PastStep) -> str:
    """What became of it, in a word or two."""
    if step.result == "refused":
        return f"refused {step.code}"
    if step.result == "unknown":
        return "no answer"
    if step.code in UNREPLACED:
        return _MISSED.get(step.code, "not Ready")
    if came_back(step):
        return "came back"
    if step.readySeconds is not None:
        return "Ready elsewhere" if _is_elsewhere(step) else "Ready"
    return "evicted"


def expected_node(step: PastStep) -> str:
    """The likeliest node with its probability."""
    if not step.expected or step.probability is None:
        return UNKNOWN
    return f"{step.expected} {percent(step.probability)}"


def ready(step: PastStep) -> str:
    """The time until the replacement was Ready; empty where it was not."""
    return "" if step.readySeconds is None else age(step.readySeconds)


def goal(step: PastStep) -> str:
    """Which policies it was for."""
    wanted = [name for name, gain in step.gains.items() if gain > 0]
    return ", ".join(wanted)


def facts(history: TrailHistory) -> list[Fact]:
    """The figures that stand first."""
    totals = history.totals
    broke = f"{count_text(totals.failed, 'failure')}, {totals.unfinished} without an end"
    mean = UNKNOWN if totals.readySeconds is None else age(totals.readySeconds)
    likeliest = "no replacement has landed yet"
    if totals.landed:
        share = percent(totals.onLikeliest / totals.landed)
        likeliest = f"of {count_text(totals.landed, 'replacement')}; {share} on the likeliest node"
    per, how = _per_improvement(history)
    refused = f"{totals.refused:,} refused, {totals.unknown:,} without an answer"
    landed = percent(totals.asPredicted / totals.landed) if totals.landed else UNKNOWN
    return [
        Fact("Evictions", f"{totals.evicted:,}", refused),
        Fact("Landed as predicted", landed, likeliest),
        Fact("Came back", f"{totals.returned:,}", f"{totals.lost:,} not Ready in time"),
        Fact("Until Ready", mean, f"mean of {count_text(totals.ready, 'replacement')}"),
        Fact("Evictions per 1.0 of cost", per, how),
        Fact("Cycles", f"{totals.cycles:,}", broke),
    ]


def _per_improvement(history: TrailHistory) -> tuple[str, str]:
    totals = history.totals
    promised = f"{amount(totals.promised)} promised"
    if not totals.evicted:
        return "none", "nothing was evicted"
    if not totals.compared:
        per = UNKNOWN if totals.perPromised is None else amount(totals.perPromised)
        return per, f"{promised}; no gain was measured yet"
    per = "no gain" if totals.perMeasured is None else amount(totals.perMeasured)
    return per, (
        f"measured {signed_gain(totals.measured)} of {signed_gain(totals.promisedOfCompared)} "
        "promised, for "
        f"{count_text(totals.compared, 'move')}"
    )


def period(history: TrailHistory) -> str:
    """The time that the records span."""
    if history.first is None or history.last is None:
        return "nothing in this time"
    return f"{stamp(history.first)} to {stamp(history.last)}"


def days(history: TrailHistory) -> list[str]:
    """Each day (UTC) from the first record to the last; at most the last 60."""
    if history.first is None or history.last is None:
        return []
    last = history.last.date()
    number = min((last - history.first.date()).days, 59)
    return [f"{last - timedelta(days=back)}" for back in range(number, -1, -1)]


def held_back(prevention: Prevented) -> str:
    """How often, and when last."""
    most = f", up to {prevention.most:,} in one" if prevention.most > 1 else ""
    return f"In {count_text(prevention.cycles, 'cycle')}{most}; last {stamp(prevention.last)}"


def no_moves(history: TrailHistory) -> str:
    """Why there is no table of moves."""
    if not history.cycles:
        return "There is no cycle in this time."
    audit = sum(cycle.mode == "Audit" for cycle in history.cycles)
    if audit == len(history.cycles):
        cycles = count_text(audit, "cycle")
        return f"{_NO_MOVE} The {cycles} {verb_for(audit, 'was', 'were')} in mode Audit."
    return _NO_MOVE


def reason(step: PastStep) -> str:
    """The first finding that it was for, without the name of the policy again."""
    if not step.reasons:
        return ""
    return re.sub(r"\s+", " ", coded_text(step.reasons[0]))

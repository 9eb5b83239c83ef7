"""Whether what steers by the table of replacements goes by the table as it is stored now."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from rescheduler.acting.actor import Actor
from rescheduler.model.history import UNREADABLE, History, PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.steering import Followed, Means

SHOWN = timedelta(seconds=30)
"""An extender that has not shown itself for so long is not there."""
ASKED = timedelta(hours=1)
"""A scheduler that has not asked the extender for so long may not do so any more."""
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
"""Seconds between two questions whether the table is read as it was written."""


def confirmed(actor: Actor, means: Means) -> Problem | None:
    """Why these means are not seen to steer by the table as it is stored now, or None.

    Raises:
        ActionError: the API server does not answer, or refuses.
    """
    if actor.steering is None:
        return Problem(code="STR001", message="nothing here writes the table of replacements")
    for pause in (*_PAUSES, 0.0):
        problem = _by_extender(actor) if means == "Extender" else _by_api_server(actor)
        if problem is None or problem.code == "STR001":
            return problem
        actor.sleep(pause)
    return problem


def lingering(actor: Actor, means: Means) -> Problem | None:
    """Why these means may still go by an entry that was taken out, or None.

    Raises:
        ActionError: as `confirmed`.
    """
    problem = confirmed(actor, means)
    if problem is None or actor.steering is None:
        return problem
    gone = problem.code == "STR001" if means == "Extender" else actor.steering.seen() is None
    return None if gone else problem


def missed_before(history: History, moves: Iterable[PastMove]) -> Problem | None:
    """Why these are not entered: what they count on has steered nobody before, by the same plan.

    What reads the table may show it and yet steer no pod: one of several API servers, or a webhook
    whose answers come too late.
    """
    plans = {(move.plan, move.steered.by) for move in moves if move.steered is not None}
    for past in history.moves:
        steered = past.steered
        if steered is not None and steered.missed and (past.plan, steered.by) in plans:
            said = f"the replacement of {past.namespace}/{past.pod} came without its node affinity"
            return Problem(code="STR002", message=f"{said}, so {steered.by} is not counted on")
    return None


def misses(history: History, plan: str) -> list[Problem]:
    """What to note of the replacements of this plan that were not steered."""
    known = CATALOG["STR005"]
    return [
        Problem(
            code=known.code,
            message=f"{known.sentence} (steering.by {past.steered.by}: the one of "
            f"{past.namespace}/{past.pod}). {known.advice}",
        )
        for past in history.moves
        if past.plan == plan and past.steered is not None and past.steered.missed
    ]


def unread(history: History) -> list[Problem]:
    """What to note of moves that count as lost because nobody can read what became of them."""
    known = CATALOG[UNREADABLE]
    return [
        Problem(UNREADABLE, f"{known.sentence} It is {past.namespace}/{past.pod}. {known.advice}")
        for past in history.moves
        if past.unread and not past.no_effect
    ]


def _by_api_server(actor: Actor) -> Problem | None:
    if actor.steering is not None and actor.steering.seen():
        return None
    said = f"kube-apiserver did not show within {sum(_PAUSES):.0f} s that it reads the table"
    return Problem(code="STR002", message=said)


def _by_extender(actor: Actor) -> Problem | None:
    """It is there, a scheduler asks it, and it has the table: in this order."""
    shown = None if actor.extender is None else actor.extender.read()
    idle = out_of_use(shown, actor.clock())
    if idle is not None:
        return idle
    # It shows "" where it has no table, or no data to go by it with.
    stored = "" if actor.steering is None else actor.steering.version()
    if shown is None or not shown.version or shown.version != stored:
        said = f"the extender did not show within {sum(_PAUSES):.0f} s that it has read the table"
        said += ", and knows the nodes of the cluster; its log says why"
        return Problem(code="STR002", message=said)
    return None


def out_of_use(shown: Followed | None, now: datetime) -> Problem | None:
    """Why no extender steers, whichever table it has, or None where one runs and is asked."""
    if shown is None or not -SHOWN <= now - shown.renewed <= SHOWN:
        ago = "never" if shown is None else f"last at {shown.renewed:%Y-%m-%d %H:%M:%S} UTC"
        said = f"Lease rescheduler-extender was renewed {ago}, so no extender runs"
        return Problem(code="STR001", message=said)
    if shown.asked is None or now - shown.asked > ASKED:
        said = "no scheduler has asked the extender within the last hour"
        return Problem(code="STR001", message=said)
    return None

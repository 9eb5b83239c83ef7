"""What `rescheduler reset` can end in a cluster, each with the command to type."""

from collections.abc import Iterator

from rescheduler.model.moves.history import SLOW_FOR
from rescheduler.model.moves.plan import Plan
from rescheduler.model.run_status import ResetOffer
from rescheduler.model.wording import instant
from rescheduler.planning.limits.landing_trust import distrust
from rescheduler.reporting.status.status_facts import StatusFacts


def reset_offers(facts: StatusFacts, plan: Plan | None) -> Iterator[ResetOffer]:
    """What a person can reset. plan: the last one, which says of which version landings are."""
    if facts.doubt:
        text = "The next run begins with an empty state, and slowly."
        yield ResetOffer(command="rescheduler reset state", message=text)
    yield from _holds(facts)
    yield from _landings(facts, plan)
    for record in facts.history.gains:
        if record.demoted_at(facts.now) and record.until is not None:
            text = f"Policy {record.policy} only reports until {instant(record.until)}."
            offer = f"rescheduler reset demotion {record.policy}"
            yield ResetOffer(command=offer, message=text)


def _holds(facts: StatusFacts) -> Iterator[ResetOffer]:
    for move in facts.history.recent(facts.now):
        if move.state == "lost" and not (move.forgiven or move.settling or move.no_worse):
            pod = f"{move.namespace}/{move.pod}"
            text = f"Pod {pod} was evicted at {instant(move.at)} and has no Ready replacement."
            yield ResetOffer(command=f"rescheduler reset hold {pod}", message=text)
    for name, at in facts.history.slow.items():
        if at + SLOW_FOR > facts.now:
            text = f"Namespace {name} took too long to read. It is held until "
            offer = f"rescheduler reset hold {name}"
            yield ResetOffer(command=offer, message=f"{text}{instant(at + SLOW_FOR)}.")


def _landings(facts: StatusFacts, plan: Plan | None) -> Iterator[ResetOffer]:
    if facts.limits is None or plan is None:
        return
    distrusted = distrust(facts.history, facts.limits, plan.cluster.version, facts.now)
    offers = {
        **distrusted.kinds,
        **{f"{kind}/{name}": why for (kind, name), why in distrusted.within.items()},
    }
    for name, problem in offers.items():
        yield ResetOffer(command=f"rescheduler reset landings {name}", message=problem.message)

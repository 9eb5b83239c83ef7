"""Gates on our own state: limits, cool-downs and earlier refusals, whatever was read.

The search and the fresh check cover these too; they are held here once more because they must hold.
"""

from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.eligibility.back_off import BackOff
from rescheduler.planning.gates.context import PodContext
from rescheduler.planning.limits.move_limits import MoveLimits


def not_refused_before(context: PodContext) -> Problem | None:
    """ACT004 or ACT007: what the API server refused to all of its namespace, or of its budget."""
    move, refusals = context.move, context.refusals
    namespace = move.pod.namespace
    budget = move.budget.name if move.budget else ""
    return refusals.get((namespace, "")) or refusals.get((namespace, budget))


def not_evicted_before(context: PodContext) -> Problem | None:
    """ELG022: whether this very pod was evicted, or may have been."""
    uid = context.move.pod.uid
    if any(past.charged and past.podUid == uid for past in context.history.moves):
        return problem("ELG022", f"Pod {uid} was evicted before.")
    return None


def has_slot(context: PodContext) -> Problem | None:
    """ELG022: whether its workload waits for as many replacements as it may."""
    most = context.limits.inFlightPerWorkload
    if context.history.in_flight(context.move.owner.uid) >= most:
        return problem("ELG022", f"inFlightPerWorkload is {most}.")
    return None


def workload_rested(context: PodContext) -> Problem | None:
    """ELG022: whether its workload rests after evictions that broke off runs."""
    past = context.releases
    if past is None:
        return None
    back_off = BackOff(context.before, context.limits, context.history, context.plan)
    return back_off.refuse_resting(past.workload, f"the workload of {past.namespace}/{past.pod}")


def within_limits(context: PodContext) -> Problem | None:
    """PAC: which limit on moves is reached.

    Moves of one gang and workload count as one to the limits of that. A release completes a move of
    its workload, and counts with it as one; it leaves no node.
    """
    move, earlier, past = context.move, context.earlier, context.releases
    allowed = MoveLimits(context.before, context.limits, context.history, context.at, context.plan)
    subject = allowed.of_move(move) if past is None else allowed.of_replacement(past)
    siblings = any(other.owner.uid == move.owner.uid for other in earlier)
    follows = past is not None or (bool(move.group) and siblings)
    full = allowed.overall_refusal(len(earlier)) or allowed.refusal(
        subject, map(allowed.of_move, earlier), follows=follows
    )
    return None if full is None else problem(full.code, full.message)


def only_entry(context: PodContext) -> Problem | None:
    """STR004: whether another replacement of its controller is being steered."""
    past = context.releases
    if past is None:
        return None
    others = (move for move in context.history.moves if move.podUid != past.podUid)
    if any(e.controller == past.controller and e.steered and e.steered.open for e in others):
        return problem("STR004", "Another entry of its controller is open.")
    return None

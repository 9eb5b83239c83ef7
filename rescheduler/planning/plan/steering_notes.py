"""Notes on means of steering that cannot work on this cluster, as reading it shows."""

from collections.abc import Iterator, Sequence

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.means_registry import MEANS


def steering_notes(
    policies: Sequence[Policy],
    limits: Limits,
    snapshot: Snapshot,
    declared: Sequence[Scheduler] = (),
) -> Iterator[Problem]:
    """What is requested and has no effect here: whether it is set up shows only when it acts.

    declared: what operators say of schedulers.
    """
    said = {
        (policy.by, policy.strength) for policy in (p.steering or limits.steering for p in policies)
    }
    sentence = CATALOG["STR001"].sentence
    for means in MEANS.values():
        strengths = sorted(strength for by, strength in said if by == means.name)
        for why in means.impossible(snapshot, declared, strengths) if strengths else ():
            message = f"{sentence} (steering.by {means.name}: {why})."
            yield Problem(code="STR001", message=message)

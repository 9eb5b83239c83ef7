"""Which steering cannot act on a cluster, as far as reading the cluster shows."""

from collections.abc import Collection, Iterator, Sequence

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.steering import TRAITS, Strength
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import Verb, schedulers_of


def steering_notes(
    policies: Sequence[Policy],
    limits: Limits,
    snapshot: Snapshot,
    declared: Sequence[Scheduler] = (),
) -> Iterator[Problem]:
    """What is asked for and has no effect here: whether it is set up shows only when it acts.

    declared: what operators say of schedulers.
    """
    said = {(each.by, each.strength) for each in (p.steering or limits.steering for p in policies)}
    minor = minor_of(snapshot.cluster.version)
    for traits in TRAITS.values():
        strengths = {strength for by, strength in said if by == traits.name}
        if not strengths:
            continue
        if minor is not None and minor < traits.since:
            why = f"kube-apiserver {snapshot.cluster.version} {traits.before}"
            yield _note(traits.name, why)
        if traits.extends:
            for why in _unasked(strengths, snapshot, declared):
                yield _note(traits.name, why)


def _unasked(
    strengths: Collection[Strength], snapshot: Snapshot, declared: Sequence[Scheduler]
) -> Iterator[str]:
    """Why no scheduler asks an extender for what these strengths need."""
    nodes, schedulers = len(snapshot.nodes), schedulers_of(snapshot, declared)
    for strength in sorted(strengths):
        verb: Verb = "filterVerb" if strength == "Require" else "prioritizeVerb"
        if not any(schedulers.asks(name, verb) for name in schedulers.known):
            why = f"no configuration that is declared has a harmless extender with {verb}"
            yield f"{why}, which {strength} needs"
    if "Require" not in strengths:
        return
    sampling = [name for name in sorted(schedulers.known) if schedulers.sampled(name, nodes)]
    if sampling:
        yield (
            f"of {nodes} nodes {', '.join(sampling)} asks it about a sample, so that Require "
            "cannot be kept; use Prefer, unless percentageOfNodesToScore is 100, which a document "
            "of kind Scheduler says"
        )


def _note(means: str, why: str) -> Problem:
    sentence = CATALOG["STR001"].sentence
    return Problem(code="STR001", message=f"{sentence} (steering.by {means}: {why}).")

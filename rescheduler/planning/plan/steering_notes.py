"""Which steering cannot act on a cluster, as far as reading the cluster shows."""

from collections.abc import Iterator, Sequence

from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.steering import Means
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import Verb, schedulers_of

_SERVED = 34
"""The minor version of Kubernetes 1 from which on MutatingAdmissionPolicy is served, as v1beta1 and
where it is enabled; the other means need an older one than any whose scheduler is modelled.

Source: pkg/features/kube_features.go, MutatingAdmissionPolicy, Kubernetes 1.36.
"""


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
    if minor is not None and minor < _SERVED and "AdmissionPolicy" in {by for by, _ in said}:
        served = f"kube-apiserver {snapshot.cluster.version} has no MutatingAdmissionPolicy"
        yield _note("AdmissionPolicy", f"{served}; use Webhook")
    strengths = {strength for by, strength in said if by == "Extender"}
    if not strengths:
        return
    nodes, schedulers = len(snapshot.nodes), schedulers_of(snapshot, declared)
    for strength in sorted(strengths):
        verb: Verb = "filterVerb" if strength == "Require" else "prioritizeVerb"
        if not any(schedulers.asks(name, verb) for name in schedulers.known):
            why = f"no configuration that is declared has a harmless extender with {verb}"
            yield _note("Extender", f"{why}, which {strength} needs")
    if "Require" not in strengths:
        return
    sampling = [name for name in sorted(schedulers.known) if schedulers.sampled(name, nodes)]
    if sampling:
        yield _note(
            "Extender",
            f"of {nodes} nodes {', '.join(sampling)} asks it about a sample, so that Require "
            "cannot be kept; use Prefer, unless percentageOfNodesToScore is 100, which a document "
            "of kind Scheduler says",
        )


def _note(means: Means, why: str) -> Problem:
    sentence = CATALOG["STR001"].sentence
    return Problem(code="STR001", message=f"{sentence} (steering.by {means}: {why}).")

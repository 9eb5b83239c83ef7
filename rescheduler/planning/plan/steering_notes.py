"""Which steering cannot act on a cluster, as far as reading the cluster shows."""

from collections.abc import Iterator, Sequence

from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.steering import Means
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.scheduler.sampling import FEW_NODES

_SERVED = 34
"""The minor version of Kubernetes 1 from which on MutatingAdmissionPolicy is served, as v1beta1 and
where it is enabled; the other means need an older one than any whose scheduler is modelled.

Source: pkg/features/kube_features.go, MutatingAdmissionPolicy, Kubernetes 1.36.
"""


def steering_notes(
    policies: Sequence[Policy], limits: Limits, snapshot: Snapshot
) -> Iterator[Problem]:
    """What is asked for and has no effect here: whether it is set up shows only when it acts."""
    said = {(each.by, each.strength) for each in (p.steering or limits.steering for p in policies)}
    minor = minor_of(snapshot.cluster.version)
    if minor is not None and minor < _SERVED and "AdmissionPolicy" in {by for by, _ in said}:
        served = f"kube-apiserver {snapshot.cluster.version} has no MutatingAdmissionPolicy"
        yield _note("AdmissionPolicy", f"{served}; use Webhook")
    nodes = len(snapshot.nodes)
    if ("Extender", "Require") in said and nodes >= FEW_NODES:
        yield _note(
            "Extender",
            f"of {nodes} nodes kube-scheduler asks it about a sample, so that Require cannot be "
            "kept; use Prefer",
        )


def _note(means: Means, why: str) -> Problem:
    sentence = CATALOG["STR001"].sentence
    return Problem(code="STR001", message=f"{sentence} (steering.by {means}: {why}).")

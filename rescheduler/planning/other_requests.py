"""Resource requests in which a replacement differs from the pod that leaves (ELG043)."""

from rescheduler.kube.objects import PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests
from rescheduler.kube.quantity import NANO
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move_reason import MoveReason, RequestChange

_BYTES = frozenset({"memory", "ephemeral-storage"})
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def other_requests(snapshot: Snapshot, pod: int) -> MoveReason | None:
    """ELG043 where the replacement of the pod asks for more or less than it does."""
    here, replacement = snapshot.pods[pod], snapshot.next_pods.replacement(pod)
    following = snapshot.next_pods.next_pod_of(here)
    changes = changed_requests(here.spec, replacement.spec)
    if following is None or not changes:
        return None
    return MoveReason(code="ELG043", requests=changes, like=following.requests_source)


def changed_requests(here: PodSpec, then: PodSpec) -> list[RequestChange]:
    """Each resource that two specs request in different amounts, and these amounts."""
    if here is then:
        return []
    was, now = pod_requests(here), pod_requests(then)
    return [
        RequestChange(name, _amount(name, was.get(name, 0)), _amount(name, now.get(name, 0)))
        for name in sorted(was.keys() | now.keys())
        if was.get(name, 0) != now.get(name, 0)
    ]


def _amount(name: str, nanos: int) -> str:
    amount, steps = nanos / NANO, 0
    while name in _BYTES and amount >= 1024 and steps < len(_BINARY) - 1:
        amount, steps = amount / 1024, steps + 1
    return f"{amount:.4g}{_BINARY[steps]}"

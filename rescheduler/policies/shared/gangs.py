"""Which gang a pod is a member of."""

from rescheduler.kube import annotations
from rescheduler.kube.objects import Pod


def gang_of(pod: Pod) -> tuple[str, str] | None:
    """The gang's name as shown, and the first known label or annotation that names it."""
    metadata = pod.metadata
    for marks, known in (
        (metadata.labels, annotations.GANG_LABELS),
        (metadata.annotations, annotations.GANGS),
    ):
        for mark in sorted(known.intersection(marks or ())):
            name = (marks or {})[mark]
            return f"gang {metadata.namespace}/{name}", mark
    return None

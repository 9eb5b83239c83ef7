"""Whether moved pods tell when they serve: DAT003."""

from collections.abc import Iterable

from rescheduler.kube.objects import PodSpec
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot

_SHOWN = 5


def unprobed(snapshot: Snapshot, moved: Iterable[int]) -> list[Problem]:
    """DAT003: the workloads among the moved pods that serve, and do not tell when they do.

    Nothing where no pod of the cluster has a readiness probe, as in recordings of earlier versions.
    """
    if not any(map(_probed, snapshot.specs)):
        return []
    silent = {
        int(snapshot.pod_workload[pod]) for pod in moved if not _probed(snapshot.pods[pod].spec)
    }
    names = sorted(
        f"{each.kind} {each.namespace}/{each.name}"
        for each in (snapshot.workloads[number] for number in silent)
        if each.controller_kind != "Job"
    )
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [Problem(code="DAT003", message=f"without a readiness probe: {shown}{more}")]


def _probed(spec: PodSpec) -> bool:
    return any(each.readinessProbe is not None for each in spec.containers)

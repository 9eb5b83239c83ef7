"""Whether moved pods tell when they serve: DAT003."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rescheduler.kube.controllers import Service
from rescheduler.kube.objects import Container, PodSpec
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem

_SHOWN = 5


def unprobed(snapshot: Snapshot, moved: Iterable[int]) -> list[Problem]:
    """DAT003: the workloads of moved pods that get requests, and do not tell when they serve.

    Who gets requests is selected by a Service. Nothing where no pod of the cluster has a readiness
    probe, as in recordings of earlier versions.
    """
    if not any(_probed(each) for spec in snapshot.specs for each in spec.containers):
        return []
    services = defaultdict[str, list[Service]](list)
    for each in snapshot.services:
        services[each.metadata.namespace].append(each)
    silent = set[int]()
    for number in moved:
        pod = snapshot.pods[number]
        among = services[pod.metadata.namespace]
        serving = [each for each in among if each.selects(pod.metadata.labels)]
        if serving and not _tells(pod.spec, serving):
            silent.add(int(snapshot.pod_workload[number]))
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


def _tells(spec: PodSpec, services: Sequence[Service]) -> bool:
    """Whether the pod is Ready only when it serves: by a gate, or by a probe of who serves.

    That is the container with a port that a Service names; any, where none has it.
    """
    if spec.readinessGates:
        return True
    targets = {port.target for each in services for port in each.spec.ports or ()}
    serving = [
        each
        for each in (*(spec.initContainers or ()), *spec.containers)
        if any({port.containerPort, port.name} & targets for port in each.ports or ())
    ]
    return any(map(_probed, serving or spec.containers))


def _probed(container: Container) -> bool:
    return container.readinessProbe is not None

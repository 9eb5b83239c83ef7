"""Moved pods without a readiness probe: nobody sees when they serve (DAT003)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rescheduler.kube.controllers import Service
from rescheduler.kube.objects import Container, PodSpec
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem

_SHOWN = 5


def missing_probes(snapshot: Snapshot, moved: Iterable[int]) -> list[Problem]:
    """DAT003: the workloads of moved pods that get requests, and do not tell when they serve.

    Who gets requests is selected by a Service. Nothing where no pod of the cluster has a readiness
    probe, as in recordings of earlier versions.
    """
    if not any(_has_probe(container) for spec in snapshot.specs for container in spec.containers):
        return []
    services = defaultdict[str, list[Service]](list)
    for service in snapshot.services:
        services[service.metadata.namespace].append(service)
    silent = set[int]()
    for number in moved:
        pod = snapshot.pods[number]
        among = services[pod.metadata.namespace]
        serving = [service for service in among if service.selects(pod.metadata.labels)]
        if serving and not _tells(pod.spec, serving):
            silent.add(int(snapshot.pod_workload[number]))
    names = sorted(
        f"{workload.kind} {workload.namespace}/{workload.name}"
        for workload in (snapshot.workloads[number] for number in silent)
        if workload.controller_kind != "Job"
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
    targets = {port.target for service in services for port in service.spec.ports or ()}
    serving = [
        container
        for container in (*(spec.initContainers or ()), *spec.containers)
        if any({port.containerPort, port.name} & targets for port in container.ports or ())
    ]
    return any(map(_has_probe, serving or spec.containers))


def _has_probe(container: Container) -> bool:
    return container.readinessProbe is not None

"""What a pod asks for, in the units in which kube-scheduler compares it.

Source: pkg/scheduler/framework/types.go, CalculateResource, and plugins/noderesources.
"""

from dataclasses import dataclass

from rescheduler.kube.nodes.resource_names import is_counted
from rescheduler.kube.objects import Container, Pod, PodSpec
from rescheduler.kube.pods.pod_requests import (
    Amounts,
    amounts,
    container_requests,
    effective_pod_level_requests,
    effective_requests,
    pod_requests,
    requests_by_sum,
    scheduler_units,
    with_pod_level,
)
from rescheduler.kube.quantity import NANO

DEFAULTS: Amounts = {"cpu": NANO // 10, "memory": 200 * 1024 * 1024 * NANO}
"""What a container without a request is taken to use when nodes are scored."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in the scheduler's units: milli for cpu, whole units for the rest.

    plain: what counts against allocatable, by resource; no zeros.
    cpu, memory: the same with a default where a container requests none, for LeastAllocated.
    """

    plain: dict[str, int]
    cpu: int
    memory: int


def incoming_requests(spec: PodSpec, *, pod_level: bool = True) -> Requests:
    """Requests of a pod that is to be placed: by its spec alone.

    LeastAllocated never sees the pod-level requests of the incoming pod, so cpu and memory leave
    them out (as of 1.36; pkg/scheduler/framework/plugins/noderesources/fit.go, NewFit).
    """
    plain = pod_requests(spec, pod_wide=None if pod_level else {})
    scored = _total(spec, {}, pod_wide={}, missing=DEFAULTS)
    return _requests(plain, scored)


def running_requests(pod: Pod, *, pod_level: bool = True, by_sum: bool = False) -> Requests:
    """Requests of a pod on its node: the maximum of its spec and its status per container.

    by_sum: of the sums over all containers, as since 1.37.
    """
    pod_wide = effective_pod_level_requests(pod) if pod_level else {}
    effective = effective_requests(pod)

    def total(missing: Amounts) -> Amounts:
        if by_sum:
            return with_pod_level(pod, requests_by_sum(pod, missing), pod_wide)
        return _total(pod.spec, effective, pod_wide=pod_wide, missing=missing)

    plain = total({})
    missing = DEFAULTS
    if pod_wide:
        missing = {name: amount for name, amount in DEFAULTS.items() if name not in plain}
    scored = plain
    if missing:
        scored = total(missing)
    return _requests(plain, scored)


def _requests(plain: Amounts, scored: Amounts) -> Requests:
    return Requests(
        plain={
            name: scheduler_units(name, amount)
            for name, amount in plain.items()
            if amount and is_counted(name)
        },
        cpu=scheduler_units("cpu", scored.get("cpu", 0)),
        memory=scheduler_units("memory", scored.get("memory", 0)),
    )


def _total(
    spec: PodSpec, effective: dict[str, Amounts], *, pod_wide: Amounts, missing: Amounts
) -> Amounts:
    """The sum, with these effective requests of containers, and these where one has none."""

    def container_amounts(container: Container) -> Amounts:
        effective_amounts = effective.get(container.name)
        own = (
            amounts(container_requests(container))
            if effective_amounts is None
            else effective_amounts
        )
        return {**missing, **own}

    return pod_requests(spec, container_amounts, pod_wide=pod_wide)

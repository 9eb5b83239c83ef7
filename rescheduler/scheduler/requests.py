"""What a pod asks for, added up as kube-scheduler adds it up.

Amounts are exact (billionths of a unit) until a whole pod is summed; then each resource is rounded
up once: CPU to milli, everything else to whole units.
Source: component-helpers/resource/helpers.go and pkg/scheduler/framework/types.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rescheduler.kube.objects import Container, ContainerStatus, Pod, PodSpec, Resources
from rescheduler.kube.quantity import NANO, nanos

Amounts = dict[str, int]
"""Resource name to billionths of its unit."""

DEFAULTS: Amounts = {"cpu": NANO // 10, "memory": 200 * 1024 * 1024 * NANO}
"""What a container without a request is taken to use when nodes are scored."""

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in the scheduler's units: milli for cpu, whole units for the rest.

    plain: what counts against allocatable, by resource; no zeros.
    cpu, memory: the same with a default where a container says nothing, for LeastAllocated.
    """

    plain: dict[str, int]
    cpu: int
    memory: int


def incoming(spec: PodSpec, *, pod_level: bool = True) -> Requests:
    """Requests of a pod that is to be placed: by its spec alone.

    LeastAllocated never sees the pod-level requests of the incoming pod, so cpu and memory leave
    them out (as of 1.36; pkg/scheduler/framework/plugins/noderesources/fit.go, NewFit).
    """
    plain = _total(spec, {}, pod_level=pod_level)
    scored = _total(spec, {}, pod_level=False, missing=DEFAULTS)
    return _requests(plain, scored)


def running(pod: Pod, *, pod_level: bool = True) -> Requests:
    """Requests of a pod on its node: the most that its spec and its status say per container."""
    effective = _effective(pod)
    plain = _total(pod.spec, effective, pod_level=pod_level)
    missing = DEFAULTS
    if pod_level and _pod_level(pod.spec):
        missing = {name: amount for name, amount in DEFAULTS.items() if name not in plain}
    scored = _total(pod.spec, effective, pod_level=pod_level, missing=missing) if missing else plain
    return _requests(plain, scored)


def resized(pod: Pod) -> bool:
    """Whether the status of a container asks for anything else than its spec does."""
    told = [*(pod.status.containerStatuses or ()), *(pod.status.initContainerStatuses or ())]
    if not any(each.resources for each in told):
        return False
    statuses = {each.name: each for each in told}
    for container in (*pod.spec.containers, *(pod.spec.initContainers or ())):
        status = statuses.get(container.name)
        if status is None or status.resources is None:
            continue
        wanted = _asked(container)
        actual = status.resources.requests or {}
        allocated = status.allocatedResources
        if actual != wanted or (allocated is not None and allocated != wanted):
            return True
    return False


def native(resource: str) -> bool:
    """Whether the scheduler knows the resource of itself: it is scored for every pod."""
    return resource in _NATIVE


def extended(resource: str) -> bool:
    """Whether it is an extended resource: a name with a prefix that is not Kubernetes' own."""
    return (
        "/" in resource
        and "kubernetes.io/" not in resource
        and not resource.startswith("requests.")
    )


def asks_for(spec: PodSpec, resource: str) -> bool:
    """Whether a container requests the resource, or is limited in it."""
    return any(
        resource in (asked.requests or {}) or resource in (asked.limits or {})
        for each in (*spec.containers, *(spec.initContainers or ()))
        if (asked := each.resources) is not None
    )


def counted(resource: str) -> bool:
    """Whether kube-scheduler counts the resource at all.

    It knows cpu, memory, ephemeral-storage, huge pages, attachable volumes, extended resources and
    names under a kubernetes.io prefix.
    """
    return (
        resource in _NATIVE
        or resource.startswith(("hugepages-", "attachable-volumes-"))
        or ("/" in resource and not resource.startswith("requests."))
    )


def _requests(plain: Amounts, scored: Amounts) -> Requests:
    return Requests(
        plain={name: _scheduler_unit(name, amount) for name, amount in plain.items() if amount},
        cpu=_scheduler_unit("cpu", scored.get("cpu", 0)),
        memory=_scheduler_unit("memory", scored.get("memory", 0)),
    )


def _scheduler_unit(resource: str, amount: int) -> int:
    return -(-amount // (1_000_000 if resource == "cpu" else NANO))


def _asked(container: Container) -> Resources:
    return (container.resources.requests if container.resources else None) or {}


def _amounts(resources: Mapping[str, str | int | float] | None) -> Amounts:
    return {name: nanos(value) for name, value in (resources or {}).items() if counted(name)}


def _pod_level(spec: PodSpec) -> Amounts:
    """The pod-level requests that Kubernetes supports: cpu, memory and huge pages."""
    asked = spec.resources.requests if spec.resources else None
    return {
        name: amount
        for name, amount in _amounts(asked).items()
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def _effective(pod: Pod) -> dict[str, Amounts]:
    """Requests of those containers (ordinary and sidecars) whose status tells of them."""
    infeasible = any(
        each.type == "PodResizePending" and each.reason == "Infeasible"
        for each in pod.status.conditions or ()
    )
    sidecars = [each for each in pod.spec.initContainers or () if _sidecar(each)]
    statuses: dict[str, ContainerStatus] = {
        each.name: each
        for each in (
            *(pod.status.containerStatuses or ()),
            *(pod.status.initContainerStatuses or ()),
        )
    }
    answer: dict[str, Amounts] = {}
    for container in (*pod.spec.containers, *sidecars):
        status = statuses.get(container.name)
        if status is None or status.resources is None:
            continue
        amounts: Amounts = {}
        _raise(amounts, _amounts(status.resources.requests))
        _raise(amounts, _amounts(status.allocatedResources))
        if not infeasible:
            _raise(amounts, _amounts(_asked(container)))
        answer[container.name] = amounts
    return answer


def _total(
    spec: PodSpec,
    effective: Mapping[str, Amounts],
    *,
    pod_level: bool,
    missing: Amounts | None = None,
) -> Amounts:
    def of(container: Container) -> Amounts:
        known = effective.get(container.name)
        amounts = _amounts(_asked(container)) if known is None else known
        return {**missing, **amounts} if missing else amounts

    total: Amounts = {}
    for container in spec.containers:
        _add(total, of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.initContainers or ():
        if _sidecar(container):
            _add(total, of(container))
            _add(sidecars, of(container))
            _raise(peak, sidecars)
        else:
            step = dict(sidecars)
            _add(step, of(container))
            _raise(peak, step)
    _raise(total, peak)
    if pod_level:
        total.update(_pod_level(spec))
    _add(total, _amounts(spec.overhead))
    return total


def _sidecar(container: Container) -> bool:
    return container.restartPolicy == "Always"


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        total[name] = max(total.get(name, 0), amount)

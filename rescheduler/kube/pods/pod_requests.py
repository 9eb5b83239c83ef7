"""What a pod asks for, added up as Kubernetes adds it up.

Amounts are exact (billionths of a unit) until a whole pod is summed; a component rounds each sum
up once, so two containers of 100.5m are 201m of CPU.
Source: component-helpers resource/helpers.go (PodRequests, PodLimits).
"""

from collections.abc import Callable, Mapping

import msgspec

from rescheduler.kube.nodes.resource_names import HUGE_PAGES, pod_level
from rescheduler.kube.objects import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    ResourceRequirements,
    Resources,
)
from rescheduler.kube.pods.containers import all_containers, long_running, restartable
from rescheduler.kube.quantity import MOST_COUNTED, NANO, nanos

Amounts = dict[str, int]
"""Resource name to billionths of its unit."""

_MICRO = NANO // 1000

_encode = msgspec.msgpack.Encoder().encode


def scheduler_units(resource: str, amount: int) -> int:
    """The amount as kube-scheduler counts that resource: milli for `cpu`, else whole units, up.

    Source: pkg/scheduler/framework/types.go, Resource.Add.
    """
    return min(-(-amount // (_MICRO if resource == "cpu" else NANO)), MOST_COUNTED)


def amounts(resources: Mapping[str, str | int | float] | None) -> Amounts:
    """The quantities in billionths."""
    return {name: nanos(value) for name, value in (resources or {}).items()}


def requests_key(spec: PodSpec) -> bytes:
    """What two specs have in common that ask for the same, whatever else they are."""
    first = [
        (container.resources, restartable(container)) for container in spec.initContainers or ()
    ]
    own = [container.resources for container in spec.containers]
    return _encode((own, first, spec.overhead, spec.resources))


def container_requests(container: Container) -> Resources:
    """Requests, and limits where there is no request: the API server's default for pods.

    A template lacks that default, and its pods have it.
    Source: pkg/apis/core/v1/defaults.go, SetDefaults_Pod.
    """
    resources = container.resources
    if resources is None:
        return {}
    requests, limits = resources.requests or {}, resources.limits or {}
    return requests if limits.keys() <= requests.keys() else {**limits, **requests}


def aggregate_containers(spec: PodSpec, of: Callable[[Container], Amounts]) -> Amounts:
    """The most that the containers take at any time.

    All containers with all sidecars run together; an init container runs beside the sidecars that
    come before it. of: what one container takes.
    """
    total: Amounts = {}
    for container in spec.containers:
        _add(total, of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.initContainers or ():
        own = of(container)
        beside = {name: sidecars.get(name, 0) + amount for name, amount in own.items()}
        _raise(peak, beside)  # of the rest the sidecars so far are in it
        if restartable(container):
            _add(total, own)
            sidecars |= beside
    _raise(total, peak)
    return total


def pod_requests(
    spec: PodSpec,
    of: Callable[[Container], Amounts] | None = None,
    pod_wide: Amounts | None = None,
) -> Amounts:
    """What is requested for the pod.

    of, pod_wide: what one container requests, and what is requested of the pod as a whole, where
    that is not what the spec has.
    """
    total = aggregate_containers(spec, of or _requests_of)
    total.update(pod_level_requests(spec) if pod_wide is None else pod_wide)
    _add(total, amounts(spec.overhead))
    return total


def pod_limits(spec: PodSpec) -> Amounts:
    """What the pod is limited in; overhead counts only on top of a limit."""
    total = aggregate_containers(spec, _limits_of)
    total.update(_pod_level_amounts(spec.resources.limits if spec.resources else None))
    for name, amount in amounts(spec.overhead).items():
        if total.get(name):
            total[name] += amount
    return total


def pod_level_requests(spec: PodSpec) -> Amounts:
    """The requests of the pod as a whole: cpu, memory and huge pages, where it has any.

    Of a pod with limits, those that it lacks are what its containers request, or else the limit;
    huge pages are limited as its containers are.
    Source: pkg/apis/core/v1/defaults.go, defaultHugePagePodLimits and defaultPodRequests.
    """
    resources = spec.resources
    if resources is None or not (resources.requests or resources.limits):
        return {}
    requests = _pod_level_amounts(resources.requests)
    limited = aggregate_containers(spec, _limits_of)
    limits = {
        **{name: amount for name, amount in limited.items() if name.startswith(HUGE_PAGES)},
        **_pod_level_amounts(resources.limits),
    }
    if not limits:
        return requests
    containers = {
        name: amount
        for name, amount in aggregate_containers(spec, _requests_of).items()
        if pod_level(name) and not name.startswith(HUGE_PAGES)
    }
    return {**limits, **containers, **requests}


def effective_requests(pod: Pod) -> dict[str, Amounts]:
    """Requests of those containers (ordinary and sidecars) whose status has them.

    Source: component-helpers resource/helpers.go, determineEffectiveRequests.
    """
    statuses = _statuses(pod)
    answer: dict[str, Amounts] = {}
    for container in long_running(pod.spec):
        status = statuses.get(container.name)
        if status is None or status.resources is None:
            continue
        own = amounts(container_requests(container))
        answer[container.name] = _effective(pod, own, status.resources, status.allocatedResources)
    return answer


def effective_pod_level_requests(pod: Pod) -> Amounts:
    """The requests of the pod as a whole, by its status where that has them.

    Source: component-helpers resource/helpers.go, PodRequests.
    """
    requests = pod_level_requests(pod.spec)
    actual = pod.status.resources
    if not requests or actual is None:
        return requests
    most = _effective(pod, requests, actual, pod.status.allocatedResources)
    return {name: most.get(name, 0) for name in requests}


def _effective(
    pod: Pod, spec: Amounts, actuated: ResourceRequirements, allocated: Resources | None
) -> Amounts:
    """The most that is given; a request does not count where it cannot be given."""
    most = amounts(actuated.requests)
    _raise(most, amounts(allocated))
    if not _infeasible(pod):
        _raise(most, spec)
    return most


def _infeasible(pod: Pod) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions or ()
    )


def requests_by_sum(pod: Pod, missing: Amounts) -> Amounts:
    """What the containers of a pod take since 1.37: the most of three sums over all of them.

    They are of what the spec asks for, of what is allocated, and of what is in force; the last two
    are the pod's own where its status has both. missing: for containers that lack one.
    Source: component-helpers resource/helpers.go, AggregateContainerRequests.
    """
    statuses, refused = _statuses(pod), _infeasible(pod)

    def spec_requests(container: Container) -> Amounts:
        return {**missing, **_requests_of(container)}

    def allocated_requests(container: Container) -> Amounts:
        status = statuses.get(container.name)
        if status is not None and status.allocatedResources is not None:
            return {**missing, **amounts(status.allocatedResources)}
        return dict(missing) if refused else spec_requests(container)

    def actuated_requests(container: Container) -> Amounts:
        status = statuses.get(container.name)
        actual = status.resources if status is not None else None
        if actual is not None and actual.requests is not None:
            return {**missing, **amounts(actual.requests)}
        return allocated_requests(container)

    own, actual = pod.status.allocatedResources, pod.status.resources
    total: Amounts = {} if refused else aggregate_containers(pod.spec, spec_requests)
    if own is not None and actual is not None and actual.requests is not None:
        _raise(total, amounts(own))
        _raise(total, amounts(actual.requests))
        return total
    _raise(total, aggregate_containers(pod.spec, allocated_requests))
    _raise(total, aggregate_containers(pod.spec, actuated_requests))
    return total


def with_pod_level(pod: Pod, total: Amounts, pod_wide: Amounts) -> Amounts:
    """The sum of the containers, or what is requested of the pod as a whole, and its overhead."""
    answer = {**total, **pod_wide}
    _add(answer, amounts(pod.spec.overhead))
    return answer


def is_resized(pod: Pod) -> bool:
    """Whether the status asks for anything else than the spec does, of a container or the pod."""
    if effective_pod_level_requests(pod) != pod_level_requests(pod.spec):
        return True
    statuses = _statuses(pod)
    if not any(container_status.resources for container_status in statuses.values()):
        return False
    for container in all_containers(pod.spec):
        status = statuses.get(container.name)
        if status is None or status.resources is None:
            continue
        wanted = container_requests(container)
        allocated = status.allocatedResources
        actual = status.resources.requests or {}
        if actual != wanted or (allocated is not None and allocated != wanted):
            return True
    return False


def requests_resource(spec: PodSpec, resource: str) -> bool:
    """Whether a container requests the resource, or is limited in it."""
    return any(resource in container_requests(container) for container in all_containers(spec))


def _requests_of(container: Container) -> Amounts:
    return amounts(container_requests(container))


def _limits_of(container: Container) -> Amounts:
    return amounts(container.resources.limits if container.resources else None)


def _pod_level_amounts(resources: Resources | None) -> Amounts:
    return {name: amount for name, amount in amounts(resources).items() if pod_level(name)}


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    statuses = (*(pod.status.containerStatuses or ()), *(pod.status.initContainerStatuses or ()))
    return {status.name: status for status in statuses}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        total[name] = max(total.get(name, 0), amount)

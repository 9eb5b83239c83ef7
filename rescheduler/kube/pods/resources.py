"""The resources of a pod's containers, taken over from another pod or from several."""

from collections.abc import Iterable, Sequence

import msgspec

from rescheduler.kube.objects import Container, PodSpec, ResourceRequirements, Resources
from rescheduler.kube.pods.containers import all_containers
from rescheduler.kube.pods.pod_requests import container_requests
from rescheduler.kube.quantity import nanos


def with_resources_of(spec: PodSpec, other: PodSpec) -> PodSpec:
    """The spec with what each container, and the pod as a whole, has in the other one.

    A container that the other one lacks keeps its own, and all keep their claims.
    """
    resources_by_name = {
        container.name: container.resources or ResourceRequirements()
        for container in all_containers(other)
    }

    def with_resources(containers: Sequence[Container] | None) -> list[Container]:
        return [
            _replace_amounts(container, resources_by_name[container.name])
            if container.name in resources_by_name
            else container
            for container in containers or ()
        ]

    return msgspec.structs.replace(
        spec,
        containers=with_resources(spec.containers),
        initContainers=with_resources(spec.initContainers) or None,
        resources=other.resources,
    )


def _replace_amounts(container: Container, other: ResourceRequirements) -> Container:
    own = container.resources or ResourceRequirements()
    resources = msgspec.structs.replace(own, requests=other.requests, limits=other.limits)
    return msgspec.structs.replace(container, resources=resources)


def largest(spec: PodSpec, others: Iterable[PodSpec]) -> PodSpec:
    """The spec where each container has the most that it has in any of them, by resource.

    So has the pod as a whole. Claims stay as they are.
    """
    specs = [spec, *others]

    def most_of(container: Container) -> Container:
        like = [
            counterpart
            for one in specs
            for counterpart in all_containers(one)
            if counterpart.name == container.name
        ]
        requests = _largest_amounts(container_requests(counterpart) for counterpart in like)
        limits = _largest_amounts(
            counterpart.resources.limits
            for counterpart in like
            if counterpart.resources is not None
        )
        return _replace_amounts(container, ResourceRequirements(requests=requests, limits=limits))

    whole = [pod_spec.resources for pod_spec in specs if pod_spec.resources is not None]
    pod_wide = ResourceRequirements(
        requests=_largest_amounts(requirement.requests for requirement in whole),
        limits=_largest_amounts(requirement.limits for requirement in whole),
    )
    return msgspec.structs.replace(
        spec,
        containers=[most_of(container) for container in spec.containers],
        initContainers=[most_of(container) for container in spec.initContainers or ()] or None,
        resources=pod_wide if whole else None,
    )


def _largest_amounts(amounts: Iterable[Resources | None]) -> Resources | None:
    """The most of each resource; None where there is none."""
    maxima: Resources = {}
    for resource in amounts:
        for name, amount in (resource or {}).items():
            if name not in maxima or nanos(amount) > nanos(maxima[name]):
                maxima[name] = amount
    return maxima or None

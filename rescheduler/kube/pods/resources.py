"""The resources of a pod's containers, taken over from another pod or from several."""

from collections.abc import Iterable, Sequence

import msgspec

from rescheduler.kube.objects import Container, PodSpec, ResourceRequirements, Resources
from rescheduler.kube.pods.containers import every
from rescheduler.kube.pods.pod_requests import container_requests
from rescheduler.kube.quantity import nanos


def with_resources_of(spec: PodSpec, other: PodSpec) -> PodSpec:
    """The spec with what each container, and the pod as a whole, has in the other one.

    A container that the other one lacks keeps its own, and all keep their claims.
    """
    found = {each.name: each.resources or ResourceRequirements() for each in every(other)}

    def given(containers: Sequence[Container] | None) -> list[Container]:
        return [
            _given(each, found[each.name]) if each.name in found else each
            for each in containers or ()
        ]

    return msgspec.structs.replace(
        spec,
        containers=given(spec.containers),
        initContainers=given(spec.initContainers) or None,
        resources=other.resources,
    )


def _given(container: Container, other: ResourceRequirements) -> Container:
    own = container.resources or ResourceRequirements()
    resources = msgspec.structs.replace(own, requests=other.requests, limits=other.limits)
    return msgspec.structs.replace(container, resources=resources)


def largest(spec: PodSpec, others: Iterable[PodSpec]) -> PodSpec:
    """The spec where each container has the most that it has in any of them, by resource.

    So has the pod as a whole. Claims stay as they are.
    """
    specs = [spec, *others]

    def most_of(container: Container) -> Container:
        like = [each for one in specs for each in every(one) if each.name == container.name]
        requests = _most(container_requests(each) for each in like)
        limits = _most(each.resources.limits for each in like if each.resources is not None)
        return _given(container, ResourceRequirements(requests=requests, limits=limits))

    whole = [each.resources for each in specs if each.resources is not None]
    pod_wide = ResourceRequirements(
        requests=_most(each.requests for each in whole), limits=_most(each.limits for each in whole)
    )
    return msgspec.structs.replace(
        spec,
        containers=[most_of(each) for each in spec.containers],
        initContainers=[most_of(each) for each in spec.initContainers or ()] or None,
        resources=pod_wide if whole else None,
    )


def _most(amounts: Iterable[Resources | None]) -> Resources | None:
    """The most of each resource; None where there is none."""
    found: Resources = {}
    for each in amounts:
        for name, amount in (each or {}).items():
            if name not in found or nanos(amount) > nanos(found[name]):
                found[name] = amount
    return found or None

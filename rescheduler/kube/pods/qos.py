"""The QoS class of a pod, as pkg/apis/core/v1/helper/qos of Kubernetes has it."""

from rescheduler.kube.objects import Container, PodSpec, Resources
from rescheduler.kube.pods.containers import all_containers
from rescheduler.kube.quantity import nanos

_COMPUTE = ("cpu", "memory")


def is_guaranteed(spec: PodSpec) -> bool:
    """Whether all its containers limit CPU and memory and request all of that.

    Requests and limits of the pod as a whole do not count.
    """
    return all(_requests_equal_limits(container) for container in all_containers(spec))


def is_best_effort(spec: PodSpec) -> bool:
    """Whether neither it nor any of its containers requests or limits CPU or memory."""
    all_resources = [spec.resources, *(container.resources for container in all_containers(spec))]
    return not any(
        nanos(amount)
        for resources in all_resources
        if resources is not None
        for amounts in (resources.requests, resources.limits)
        for name, amount in (amounts or {}).items()
        if name in _COMPUTE
    )


def _requests_equal_limits(container: Container) -> bool:
    resources = container.resources
    limits: Resources = (resources.limits if resources else None) or {}
    requests: Resources = (resources.requests if resources else None) or {}
    return all(
        name in limits and nanos(requests.get(name, limits[name])) == nanos(limits[name]) > 0
        for name in _COMPUTE
    )

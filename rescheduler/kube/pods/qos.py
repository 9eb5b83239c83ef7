"""The QoS class of a pod, as pkg/apis/core/v1/helper/qos of Kubernetes has it."""

from rescheduler.kube.objects import Container, PodSpec, Resources
from rescheduler.kube.pods.containers import every
from rescheduler.kube.quantity import nanos

_COMPUTE = ("cpu", "memory")


def is_guaranteed(spec: PodSpec) -> bool:
    """Whether all its containers limit CPU and memory and request all of that.

    Requests and limits of the pod as a whole do not count.
    """
    return all(_limited(each) for each in every(spec))


def is_best_effort(spec: PodSpec) -> bool:
    """Whether neither it nor any of its containers requests or limits CPU or memory."""
    given = [spec.resources, *(each.resources for each in every(spec))]
    return not any(
        nanos(amount)
        for resources in given
        if resources is not None
        for amounts in (resources.requests, resources.limits)
        for name, amount in (amounts or {}).items()
        if name in _COMPUTE
    )


def _limited(container: Container) -> bool:
    given = container.resources
    limits: Resources = (given.limits if given else None) or {}
    requests: Resources = (given.requests if given else None) or {}
    return all(
        name in limits and nanos(requests.get(name, limits[name])) == nanos(limits[name]) > 0
        for name in _COMPUTE
    )

"""Which containers of a pod run, and for how long."""

from rescheduler.kube.objects import Container, PodSpec


def restartable(container: Container) -> bool:
    """Whether an init container is a sidecar, which runs on beside all that come after it.

    Source: pkg/api/v1/pod/util.go, IsRestartableInitContainer.
    """
    return container.restartPolicy == "Always"


def long_running(spec: PodSpec) -> list[Container]:
    """The sidecars and then the containers: what runs as long as the pod, as kubelet starts it."""
    return [
        *(container for container in spec.initContainers or () if restartable(container)),
        *spec.containers,
    ]


def all_containers(spec: PodSpec) -> list[Container]:
    """Init containers and containers, as kubelet starts them."""
    return [*(spec.initContainers or ()), *spec.containers]

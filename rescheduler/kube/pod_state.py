"""What the state of a pod means, for every caller."""

from rescheduler.kube.objects import Pod, PodSpec


def pod_priority(spec: PodSpec) -> int:
    """The priority that counts, 0 where none was resolved.

    Source: component-helpers scheduling/corev1/helpers.go, PodPriority, Kubernetes 1.36.
    """
    return spec.priority or 0


def ended(pod: Pod) -> bool:
    """Whether it has ended for good, so that it holds no room.

    Source: pkg/api/v1/pod/util.go, IsPodTerminal, Kubernetes 1.36.
    """
    return pod.status.phase in ("Succeeded", "Failed")


def waits_for_a_node(pod: Pod) -> bool:
    """Whether it is Pending without a node, and not being deleted; gates may hold it back."""
    return not pod.node and pod.status.phase == "Pending" and pod.metadata.deletionTimestamp is None


def restarts(pod: Pod) -> int:
    """How often its containers were started again, all together."""
    status = pod.status
    every = (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))
    return sum(each.restartCount for each in every)

"""What the state of a pod means, for every caller."""

from datetime import timedelta

from rescheduler.kube.objects import Pod, PodSpec

_LONGEST_GRACE = 365 * 86_400


def pod_priority(spec: PodSpec) -> int:
    """The priority that counts, 0 where none was resolved.

    Source: component-helpers scheduling/corev1/helpers.go, PodPriority.
    """
    return spec.priority or 0


def has_ended(pod: Pod) -> bool:
    """Whether it has ended for good, so that it holds no room.

    Source: pkg/api/v1/pod/util.go, IsPodTerminal.
    """
    return pod.status.phase in ("Succeeded", "Failed")


def waits_for_a_node(pod: Pod) -> bool:
    """Whether it is Pending without a node, and not being deleted; gates may hold it back."""
    return not pod.node and pod.status.phase == "Pending" and pod.metadata.deletionTimestamp is None


def to_be_placed(pod: Pod) -> bool:
    """Whether the scheduler may place it now: it waits for a node, and no gate holds it back."""
    return waits_for_a_node(pod) and not pod.spec.schedulingGates


def grace(pod: Pod) -> timedelta:
    """How long its containers may take to end."""
    return grace_of(pod.spec.terminationGracePeriodSeconds)


def grace_of(seconds: int | None) -> timedelta:
    """What these `terminationGracePeriodSeconds` mean; a year stands for all that is longer.

    Source: pkg/apis/core/v1/defaults.go, SetDefaults_PodSpec: 30 s if not given.
    """
    return timedelta(seconds=30 if seconds is None else min(max(seconds, 0), _LONGEST_GRACE))


def restarts(pod: Pod) -> int:
    """How often its containers were started again, all together."""
    status = pod.status
    every = (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))
    return sum(container_status.restartCount for container_status in every)

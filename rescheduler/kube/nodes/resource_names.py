"""What the name of a resource means.

Source: pkg/apis/core/v1/helper/helpers.go and pkg/scheduler/util/utils.go.
"""

HUGE_PAGES = "hugepages-"
IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/"
"""How the names of extended resources begin that a DeviceClass serves without having named any."""

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})


def native(resource: str) -> bool:
    """Whether the scheduler knows the resource of itself: it is scored for every pod."""
    return resource in _NATIVE


def is_extended(resource: str) -> bool:
    """Whether it is an extended resource: a name with a prefix that is not Kubernetes' own."""
    return (
        "/" in resource
        and "kubernetes.io/" not in resource
        and not resource.startswith("requests.")
    )


def is_counted(resource: str) -> bool:
    """Whether kube-scheduler counts the resource at all.

    It knows cpu, memory, ephemeral-storage, huge pages, attachable volumes, extended resources and
    names under a kubernetes.io prefix.
    """
    return (
        resource in _NATIVE
        or resource.startswith((HUGE_PAGES, "attachable-volumes-"))
        or ("/" in resource and not resource.startswith("requests."))
    )


def pod_level(resource: str) -> bool:
    """Whether it can be requested for a pod as a whole.

    Source: component-helpers resource/helpers.go, IsSupportedPodLevelResource.
    """
    return resource in ("cpu", "memory") or resource.startswith(HUGE_PAGES)

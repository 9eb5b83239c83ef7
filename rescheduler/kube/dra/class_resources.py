"""Extended resources that a DeviceClass serves by dynamic allocation, in place of a device plugin.

Source: plugins/dynamicresources/extendeddynamicresources.go, hasDeviceClassMappedExtendedResource
(feature gate DRAExtendedResource).
"""

from collections.abc import Iterable

from rescheduler.kube.dra.devices import DeviceClass
from rescheduler.kube.nodes.resource_names import IMPLICIT_CLASS
from rescheduler.kube.objects import PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests


def extended_names(classes: Iterable[DeviceClass]) -> frozenset[str]:
    """The extended resources that the classes name."""
    names = (device_class.spec.extendedResourceName for device_class in classes)
    return frozenset(name for name in names if name)


def served_by_class(spec: PodSpec, named: frozenset[str]) -> str:
    """The first resource that such a pod asks for and a class may serve, or "".

    named: the extended resources that classes name. Every class serves one that is called after it
    besides; whether that class is there is not checked.
    """
    requests = (name for name, amount in pod_requests(spec).items() if amount)
    return min((n for n in requests if n in named or n.startswith(IMPLICIT_CLASS)), default="")

"""Plugin DynamicResources: a pod goes where free devices satisfy its claims."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from rescheduler.model.devices import DeviceClaim, DeviceRequest, DeviceSelector
from rescheduler.model.objects import Pod, PodSpec
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.device_expressions import Unclear, parse
from rescheduler.scheduler.device_stock import DeviceStock
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.requests import asks_for

MAX_KINDS = 6
"""The most different requests of one pod whose sharing of devices is worked out."""
_NEEDED = frozenset({"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"})


class Need(NamedTuple):
    """Devices that will do, and how many of them are needed; 0 needs all of a node."""

    devices: IntArray
    number: int


class Needs(NamedTuple):
    """What all claims of a pod need. common: attribute that the devices must share, or ""."""

    needs: list[Need]
    common: str = ""


class DeviceClaims:
    """What pods ask of devices: claims made from templates."""

    def __init__(self, snapshot: Snapshot, stock: DeviceStock) -> None:
        self.stock = stock
        self._unread = sorted(_NEEDED & set(snapshot.unread))
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each.spec.spec.devices
            for each in snapshot.claim_templates
        }
        self._classes = {each.metadata.name: each.spec for each in snapshot.device_classes}
        self._extended = {
            each.spec.extendedResourceName
            for each in snapshot.device_classes
            if each.spec.extendedResourceName
        }
        self._known: dict[tuple[str, tuple[str, ...]], Needs | str] = {}
        pods = snapshot.pods
        stock.wanted = lambda pod: list(self._wanted(pods[pod]))

    def problem(self, pod: Pod, *, extended: bool) -> str | None:
        """Why the allocation for this pod cannot be told, or None.

        extended: device classes may serve extended resources.
        """
        if extended:
            for name in self._extended:
                if asks_for(pod.spec, name):
                    return f"{name} may be served by a device class"
        if not pod.spec.resourceClaims:
            return None
        if not pod.node and pod.metadata.uid in self.stock.allocated:
            return "its resource claims have devices already, but it is not bound"
        known = self._of(pod.metadata.namespace, pod.spec)
        return known if isinstance(known, str) else None

    def needs(self, namespace: str, spec: PodSpec) -> Needs:
        """What a pod without a problem needs."""
        known = self._of(namespace, spec)
        return Needs([]) if isinstance(known, str) else known

    def _wanted(self, pod: Pod) -> Iterator[tuple[IntArray, int]]:
        for need in self.needs(pod.metadata.namespace, pod.spec).needs:
            yield need.devices, need.number or len(need.devices)

    def _of(self, namespace: str, spec: PodSpec) -> Needs | str:
        claims = spec.resourceClaims or ()
        names = tuple(each.resourceClaimTemplateName or f"/{each.name}" for each in claims)
        known = self._known.get((namespace, names))
        if known is None:
            known = self._known[namespace, names] = self._read(namespace, names)
        return known

    def _read(self, namespace: str, names: tuple[str, ...]) -> Needs | str:
        if self._unread:
            return f"it has resource claims, and {', '.join(self._unread)} was not read"
        needs: list[Need] = []
        common = ""
        for name in names:
            claim = self._templates.get((namespace, name))
            if claim is None:
                kind = "is shared by its name" if name.startswith("/") else "has no template"
                return f"its resource claim {name.strip('/')} {kind}"
            try:
                needs += [self._need(each) for each in claim.requests or ()]
                common = _common(claim, alone=len(names) == 1)
            except Unclear as error:
                return f"its resource claim from {name}: {error}"
        if any(not need.number for need in needs) and len(needs) > 1:
            return "it asks for all devices of a kind, and for others"
        if common and any(not need.number for need in needs):
            return "it asks for all devices of a kind that have something in common"
        if len(_merged(needs)) > MAX_KINDS:
            return f"it asks for more than {MAX_KINDS} kinds of devices"
        return Needs(needs, common)

    def _need(self, request: DeviceRequest) -> Need:
        exact = request.exactly
        if exact is None:
            raise Unclear(f"request {request.name} has alternatives")
        if exact.adminAccess or exact.capacity:
            raise Unclear(f"request {request.name} asks for access or parts of devices")
        if exact.allocationMode not in ("ExactCount", "All"):
            raise Unclear(f"request {request.name} has mode {exact.allocationMode}")
        offered = self._classes.get(exact.deviceClassName)
        if offered is None:
            raise Unclear(f"device class {exact.deviceClassName} is not there")
        devices = self._selected(self.stock.everything(), offered.selectors)
        devices = self._selected(devices, exact.selectors)
        if exact.tolerations:
            raise Unclear(f"request {request.name} tolerates taints of devices")
        devices = self.stock.untainted(devices)
        odd = self.stock.odd(devices)
        if odd or self.stock.incomplete:
            raise Unclear(odd or f"not all devices of {min(self.stock.incomplete)} are known")
        return Need(devices, exact.count if exact.allocationMode == "ExactCount" else 0)

    def _selected(self, devices: IntArray, selectors: list[DeviceSelector] | None) -> IntArray:
        for each in selectors or ():
            if each.cel is None:
                raise Unclear("a selector is not CEL")
            devices = self.stock.select(devices, parse(each.cel.expression))
        return devices


class DynamicResources(Plugin):
    """Which devices are chosen is left to the allocator: only whether a choice exists counts.

    Source: dynamic-resource-allocation/structured and plugins/dynamicresources, Kubernetes 1.36.
    """

    name: ClassVar[str] = "DynamicResources"

    def __init__(self, claims: DeviceClaims, nodes: int) -> None:
        self._claims = claims
        self._stock = claims.stock
        self._count = nodes

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes whose free devices can serve all claims at once."""
        if not pod.spec.resourceClaims:
            return None
        needs = self._claims.needs(pod.namespace, pod.spec)
        if not needs.needs:
            return None
        if not needs.needs[0].number:
            return partial(self._all_free, needs.needs[0].devices)
        places, group = self._groups(needs.common)
        return partial(self._enough, _merged(needs.needs), group, places)

    def _groups(self, common: str) -> tuple[IntArray, IntArray]:
        """The node of each group of devices, and the group of each device, -1 for none.

        A group is a node, or the devices of a node that have one value of an attribute.
        """
        nodes = self._stock.node
        if not common:
            return np.arange(self._count, dtype=np.int32), np.maximum(nodes, -1)
        numbers: dict[tuple[int, object], int] = {}
        group = np.full(len(nodes), -1, dtype=np.int32)
        for device, node in enumerate(nodes.tolist()):
            value = self._stock.attribute(device, common)
            if node >= 0 and value is not None:
                group[device] = numbers.setdefault((node, value), len(numbers))
        return np.array([node for node, _ in numbers], dtype=np.int32), group

    def _all_free(self, devices: IntArray) -> BoolArray:
        nodes = self._stock.node[devices]
        known = nodes >= 0
        free = known & self._stock.free()[devices]
        there = np.bincount(nodes[known], minlength=self._count)
        answer: BoolArray = (there > 0) & (np.bincount(nodes[free], minlength=self._count) == there)
        return answer

    def _enough(self, needs: list[Need], group: IntArray, places: IntArray) -> BoolArray:
        """Hall's condition: any of the requests together have at least so many free devices."""
        fits = np.ones(len(places), dtype=np.bool_)
        free = self._stock.free() & (group >= 0)
        for size in range(1, len(needs) + 1):
            for chosen in combinations(needs, size):
                devices = chosen[0].devices
                for each in chosen[1:]:
                    devices = np.union1d(devices, each.devices)
                left = group[devices[free[devices]]]
                counts = np.bincount(left, minlength=len(places))
                fits &= counts >= sum(each.number for each in chosen)
        answer = np.zeros(self._count, dtype=np.bool_)
        answer[places[fits]] = True
        return answer


def _merged(needs: list[Need]) -> list[Need]:
    """Requests for the same devices as one."""
    merged: dict[bytes, Need] = {}
    for need in needs:
        key = need.devices.tobytes()
        other = merged.get(key)
        merged[key] = Need(need.devices, need.number + (other.number if other else 0))
    return list(merged.values())


def _common(claim: DeviceClaim, *, alone: bool) -> str:
    """The attribute that all devices of the claim must share, or ""."""
    constraints = claim.constraints or []
    if not constraints:
        return ""
    names = {each.name for each in claim.requests or ()}
    first = constraints[0]
    whole = not first.requests or set(first.requests) == names
    if not alone or len(constraints) > 1 or not first.matchAttribute or not whole:
        raise Unclear("its constraints are not worked out here")
    return first.matchAttribute

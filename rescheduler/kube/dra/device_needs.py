"""What pods ask of devices: the claims made from their templates, as far as we work them out."""

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.cel import Unclear, parse
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.devices import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ResourceClaimTemplate,
)
from rescheduler.kube.objects import PodSpec

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

    @property
    def together(self) -> list[Need]:
        """Every choice of the needs as one: its devices, of which so many must be there (Hall)."""
        merged = _merged(self.needs)
        answer = []
        for size in range(1, len(merged) + 1):
            for chosen in combinations(merged, size):
                devices = chosen[0].devices
                for each in chosen[1:]:
                    devices = np.union1d(devices, each.devices)
                answer.append(Need(devices, sum(each.number for each in chosen)))
        return answer


class DeviceNeeds:
    """Reads what the pods of a cluster need."""

    def __init__(
        self,
        inventory: DeviceInventory,
        templates: Iterable[ResourceClaimTemplate],
        classes: Iterable[DeviceClass],
        unread: Iterable[str] = (),
    ) -> None:
        """unread: kinds of objects that could not be listed."""
        self.inventory = inventory
        self._unread = sorted(_NEEDED.intersection(unread))
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each.spec.spec.devices
            for each in templates
        }
        self._classes = {each.metadata.name: each.spec for each in classes}
        self._known: dict[tuple[str, tuple[str, ...]], Needs | str] = {}

    def of(self, namespace: str, spec: PodSpec) -> Needs | str:
        """What a pod with that spec needs, or why that is not known."""
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
        if common and self._listed(needs, common):
            return f"its devices must share {common}, which is a list"
        if len(_merged(needs)) > MAX_KINDS:
            return f"it asks for more than {MAX_KINDS} kinds of devices"
        return Needs(needs, common)

    def _listed(self, needs: list[Need], name: str) -> bool:
        """Whether the attribute of some device is a list, of which any member may be shared."""
        found = (self.inventory.attribute(d, name) for n in needs for d in n.devices.tolist())
        return any(each is not None and each.single is None for each in found)

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
        devices = self._selected(self.inventory.everything(), offered.selectors)
        devices = self._selected(devices, exact.selectors)
        if exact.tolerations:
            raise Unclear(f"request {request.name} tolerates taints of devices")
        devices = self.inventory.untainted(devices)
        odd = self.inventory.odd(devices)
        if odd or self.inventory.incomplete:
            raise Unclear(odd or f"not all devices of {min(self.inventory.incomplete)} are known")
        return Need(devices, exact.count if exact.allocationMode == "ExactCount" else 0)

    def _selected(self, devices: IntArray, selectors: list[DeviceSelector] | None) -> IntArray:
        for each in selectors or ():
            if each.cel is None:
                raise Unclear("a selector is not CEL")
            devices = self.inventory.select(devices, parse(each.cel.expression))
        return devices


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

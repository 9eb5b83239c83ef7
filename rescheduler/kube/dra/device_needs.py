"""What pods ask of devices: the claims made from their templates, as far as we work them out."""

from collections.abc import Iterable
from itertools import combinations, product
from math import prod
from typing import NamedTuple

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.capacities import consumed_of, requested_amounts
from rescheduler.kube.dra.cel import Unclear, parse
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.device_packing import MOST_CHOICES as MOST_TRIED
from rescheduler.kube.dra.device_packing import choices
from rescheduler.kube.dra.device_shares import Share
from rescheduler.kube.dra.devices import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaimTemplate,
)
from rescheduler.kube.objects import PodSpec

MOST_ALTERNATIVES = 8
"""Of one request (FirstAvailableDeviceRequestMaxSize of resource.k8s.io): what the first scores."""
MOST_CHOICES = 64
"""The most combinations of alternatives of one pod that are worked out."""
MAX_KINDS = 6
"""The most different requests of one pod whose sharing of devices is worked out."""
MOST_RESULTS = 32
"""The most devices of one claim: AllocationResultsMaxSize of resource.k8s.io."""
_NEEDED = frozenset({"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"})


class Need(NamedTuple):
    """Devices that will do, and how many of them are needed; 0 needs all of a node."""

    devices: IntArray
    number: int


class PartsNeed(NamedTuple):
    """The same, where several claims may have some of the devices. share: what it consumes."""

    devices: IntArray
    number: int
    share: Share


class Needs(NamedTuple):
    """What all claims of a pod need.

    needs: of devices that a claim has for itself. common: attribute that the devices must share, or
    "". parts: of devices that several claims may share in part; no two are for the same devices.
    capacity: whether it takes DRAConsumableCapacity to serve them. partitions: whether some of the
    devices are partitions of others. packed: whether some that are partitions of the same may be
    needed at once, so that every choice of them has to be tried. points: the allocator's score of
    these alternatives.
    """

    needs: list[Need]
    common: str = ""
    parts: tuple[PartsNeed, ...] = ()
    capacity: bool = False
    partitions: bool = False
    packed: bool = False
    points: int = 0

    @property
    def together(self) -> list[Need]:
        """Every choice of the needs as one: its devices, and how many must be there (Hall)."""
        merged = _merge_needs(self.needs)
        answer = []
        for size in range(1, len(merged) + 1):
            for chosen in combinations(merged, size):
                devices = chosen[0].devices
                for need in chosen[1:]:
                    devices = np.union1d(devices, need.devices)
                answer.append(Need(devices, sum(need.number for need in chosen)))
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
            (template.metadata.namespace, template.metadata.name): template.spec.spec.devices
            for template in templates
        }
        self._classes = {device_class.metadata.name: device_class.spec for device_class in classes}
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Needs, ...] | str] = {}

    def needs_of_spec(self, namespace: str, spec: PodSpec) -> tuple[Needs, ...] | str:
        """What a pod with that spec needs, or why that is not known.

        Where its claims have alternatives, these in the allocator's order: it takes the first that
        can be had.
        """
        claims = spec.resourceClaims or ()
        names = tuple(claim.resourceClaimTemplateName or f"/{claim.name}" for claim in claims)
        needs = self._known.get((namespace, names))
        if needs is None:
            needs = self._known[namespace, names] = self._read(namespace, names)
        return needs

    def _read(self, namespace: str, names: tuple[str, ...]) -> tuple[Needs, ...] | str:
        if self._unread:
            return f"it has resource claims, and {', '.join(self._unread)} was not read"
        options: list[list[_Option]] = []
        common, capacity = "", False
        for name in names:
            claim = self._templates.get((namespace, name))
            if claim is None:
                kind = "is shared by its name" if name.startswith("/") else "has no template"
                return f"its resource claim {name.strip('/')} {kind}"
            try:
                options += self._options_of_claim(claim)
                common = _common(claim, alone=len(names) == 1)
            except ValueError as error:  # unclear, or a quantity that is none
                return f"its resource claim from {name}: {error}"
            requests = (
                exact_device_request
                for request in claim.requests or ()
                for exact_device_request in _exact(request)
            )
            capacity |= any(request.capacity for request in requests)
        if prod(map(len, options)) > MOST_CHOICES:
            return f"its claims have more than {MOST_CHOICES} combinations of alternatives"
        answer = []
        for chosen in product(*options):
            needs = [option.need for option in chosen]
            pod_needs = self._worked_out(needs, common, capacity=capacity)
            if isinstance(pod_needs, str):
                return pod_needs
            answer.append(pod_needs._replace(points=sum(option.points for option in chosen)))
        return tuple(answer)

    def _worked_out(
        self, needs: list[Need | PartsNeed], common: str, *, capacity: bool
    ) -> Needs | str:
        """What one choice of alternatives needs in all, or why that is not worked out."""
        if any(not need.number for need in needs) and len(needs) > 1:
            return "it asks for all devices of a kind, and for others"
        if common and any(not need.number for need in needs):
            return "it asks for all devices of a kind that have something in common"
        if common and self._has_list_value(needs, common):
            return f"its devices must share {common}, which is a list"
        whole = [need for need in needs if isinstance(need, Need)]
        if len(_merge_needs(whole)) > MAX_KINDS:
            return f"it asks for more than {MAX_KINDS} kinds of devices"
        parts = _merge_parts(needs)
        if isinstance(parts, str):
            return parts
        counters = self.inventory.counters
        devices = np.unique(np.concatenate([need.devices for need in needs] or [_NONE]))
        partitions = bool(counters.taking[devices].any())
        several = sum(need.number for need in needs) != 1
        packed = partitions and several and not counters.are_independent(devices)
        if packed:
            whole = _merge_needs(whole)
            if rest := self._unpackable(whole, common, several=bool(parts)):
                return f"it requests several devices, and some are partitions of the same{rest}"
        capacity = capacity or bool(parts)
        return Needs(whole, common, tuple(parts), capacity, partitions, packed)

    def _unpackable(self, needs: list[Need], common: str, *, several: bool) -> str:
        """What of partitions of the same devices is not worked out, or "". several: also parts."""
        if common:
            return f", that share {common}"
        if several:
            return ", and for parts of devices"
        if any(not need.number for need in needs):
            return ", and for all of them"
        if choices(needs, self.inventory.node) > MOST_TRIED:
            return f", in more than {MOST_TRIED} ways"
        return ""

    def _options_of_claim(self, claim: DeviceClaim) -> list[list["_Option"]]:
        """What each request of the claim needs, with its alternatives."""
        answer = []
        for request in claim.requests or ():
            several = request.firstAvailable or ()
            answer.append(
                [
                    _Option(
                        self._need(request.name, exact_device_request), MOST_ALTERNATIVES - place
                    )
                    for place, exact_device_request in enumerate(several)
                ]
                if several
                else [
                    _Option(self._need(request.name, exact_device_request), 0)
                    for exact_device_request in _exact(request)
                ]
            )
        if sum(max(option.need.number for option in options) for options in answer) > MOST_RESULTS:
            raise Unclear(f"it asks for more than {MOST_RESULTS} devices")
        return answer

    def _has_list_value(self, needs: list[Need | PartsNeed], name: str) -> bool:
        """Whether the attribute of some device is a list; any member of it may be shared."""
        attributes = (self.inventory.attribute(d, name) for n in needs for d in n.devices.tolist())
        return any(attribute is not None and attribute.single is None for attribute in attributes)

    def _need(self, name: str, exact: ExactDeviceRequest) -> Need | PartsNeed:
        if exact.adminAccess:
            raise Unclear(f"request {name} asks for access as an administrator")
        if exact.allocationMode not in ("ExactCount", "All"):
            raise Unclear(f"request {name} has mode {exact.allocationMode}")
        offered = self._classes.get(exact.deviceClassName)
        if offered is None:
            raise Unclear(f"device class {exact.deviceClassName} is not there")
        devices = self._select_devices(self.inventory.all_devices(), offered.selectors)
        devices = self._select_devices(devices, exact.selectors)
        devices = self.inventory.untainted_devices(devices, exact.tolerations)
        odd = self.inventory.odd(devices) or self.inventory.eviction_reason(
            devices, exact.tolerations
        )
        if odd or self.inventory.incomplete:
            raise Unclear(odd or f"not all devices of {min(self.inventory.incomplete)} are known")
        number = exact.count if exact.allocationMode == "ExactCount" else 0
        return self._with_consumption(Need(devices, number), exact)

    def _with_consumption(self, need: Need, exact: ExactDeviceRequest) -> Need | PartsNeed:
        """The need, with what it consumes; only devices that could ever serve it stay."""
        requests = requested_amounts(exact.capacity)
        divisible = self.inventory.divisible(need.devices)
        if not (requests or divisible):
            return need
        if not need.number:
            raise Unclear("it asks for all devices of a kind, and for a part of each")
        subjects, sort = self.inventory.subjects, self.inventory.sort
        wanted = set(sort[need.devices].tolist())
        consumed = tuple(
            consumed_of(subjects[device].device, requests, subjects[device].driver)
            if number in wanted
            else None
            for number, device in enumerate(self.inventory.examples.tolist())
        )
        able = np.array([amount is not None for amount in consumed], dtype=np.bool_)
        devices = need.devices[able[sort[need.devices]]]
        if divisible:
            return PartsNeed(devices, need.number, Share(consumed))
        return Need(devices, need.number)

    def _select_devices(
        self, devices: IntArray, selectors: list[DeviceSelector] | None
    ) -> IntArray:
        for selector in selectors or ():
            if selector.cel is None:
                raise Unclear("a selector is not CEL")
            devices = self.inventory.select(devices, parse(selector.cel.expression))
        return devices


class _Option(NamedTuple):
    """One alternative of a request. points: more for an earlier one, 0 where there is one only."""

    need: Need | PartsNeed
    points: int


_NONE: IntArray = np.zeros(0, dtype=np.int32)


def _exact(request: DeviceRequest) -> list[ExactDeviceRequest]:
    """The request, or its alternatives."""
    if request.firstAvailable:
        return request.firstAvailable
    if request.exactly is None:
        raise Unclear(f"request {request.name} is of a kind that is not known")
    return [request.exactly]


def _merge_needs(needs: list[Need]) -> list[Need]:
    """Requests for the same devices as one."""
    merged: dict[bytes, Need] = {}
    for need in needs:
        key = need.devices.tobytes()
        other = merged.get(key)
        merged[key] = Need(need.devices, need.number + (other.number if other else 0))
    return list(merged.values())


def _merge_parts(needs: list[Need | PartsNeed]) -> list[PartsNeed] | str:
    """Requests for parts of the same devices as one, or why it is not known how they would share.

    One for several devices gets parts of different ones; several for one device each may get parts
    of the same. Both at once, or parts of different sizes, would have to be packed.
    """
    alike: dict[tuple[object, ...], list[PartsNeed]] = {}
    for need in needs:
        if isinstance(need, PartsNeed):
            sizes = (None if c is None else frozenset(c.items()) for c in need.share.consumed)
            alike.setdefault((need.devices.tobytes(), *sizes), []).append(need)
    answer = []
    for group in alike.values():
        devices, number, share = group[0]
        strangers = [need for need in needs if not any(need is parts_need for parts_need in group)]
        if any(np.intersect1d(stranger.devices, devices).size for stranger in strangers):
            return "it asks for different parts of devices that several of its requests may get"
        if len(group) > 1 and any(need.number > 1 for need in group):
            return "several of its requests ask for parts of several devices each"
        same = len(group)
        number = same if same > 1 else number
        answer.append(PartsNeed(devices, number, Share(share.consumed, same)))
    return answer


def _common(claim: DeviceClaim, *, alone: bool) -> str:
    """The attribute that all devices of the claim must share, or ""."""
    constraints = claim.constraints or []
    if not constraints:
        return ""
    names = {request.name for request in claim.requests or ()}
    first = constraints[0]
    whole = not first.requests or set(first.requests) == names
    if not alone or len(constraints) > 1 or not first.matchAttribute or not whole:
        raise Unclear("its constraints are not worked out here")
    return first.matchAttribute

"""The objects of dynamic resource allocation (resource.k8s.io/v1), with the fields that we use."""

import msgspec

from rescheduler.kube.objects import Base, NodeSelector, ObjectMeta, Taint, Toleration


class DeviceAttribute(Base):
    """An attribute of a device: one of these is set."""

    text: str | None = msgspec.field(name="string", default=None)
    number: int | None = msgspec.field(name="int", default=None)
    flag: bool | None = msgspec.field(name="bool", default=None)
    version: str | None = None
    texts: list[str] | None = msgspec.field(name="strings", default=None)
    numbers: list[int] | None = msgspec.field(name="ints", default=None)

    @property
    def single(self) -> tuple[str | None, int | None, bool | None, str | None] | None:
        """What it is compared by; None where it is a list."""
        value = (self.text, self.number, self.flag, self.version)
        return None if value == (None, None, None, None) else value


class CapacityRange(Base):
    """requestPolicy.validRange: from `min` in steps to `max`."""

    min: str | int | float | None = None
    max: str | int | float | None = None
    step: str | int | float | None = None


class CapacityRequestPolicy(Base):
    """How much of a capacity one claim can consume."""

    default: str | int | float | None = None
    validValues: list[str | int | float] | None = None
    validRange: CapacityRange | None = None


class DeviceCapacity(Base):
    """A capacity of a device, and how it can be consumed in parts."""

    value: str | int | float = 0
    requestPolicy: CapacityRequestPolicy | None = None


class Counter(Base):
    """How much there is of a counter, or how much a device takes of it."""

    value: str | int | float = 0


class CounterSet(Base):
    """spec.sharedCounters[] of a ResourceSlice: what devices of its pool share out."""

    name: str = ""
    counters: dict[str, Counter] | None = None


class CounterConsumption(Base):
    """consumesCounters[] of a device: what goes of the counters of its pool when it is taken."""

    counterSet: str = ""
    counters: dict[str, Counter] | None = None


class Device(Base):
    """spec.devices[] of a ResourceSlice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumesCounters: list[CounterConsumption] | None = None
    nodeName: str | None = None
    nodeSelector: NodeSelector | None = None
    allNodes: bool | None = None
    taints: list[Taint] | None = None
    bindingConditions: list[str] | None = None
    allowMultipleAllocations: bool | None = None


class ResourcePool(Base):
    """spec.pool of a ResourceSlice: only the slices of its greatest generation count."""

    name: str = ""
    generation: int = 0
    resourceSliceCount: int = 0


class ResourceSliceSpec(Base):
    """spec of a ResourceSlice."""

    driver: str = ""
    pool: ResourcePool = msgspec.field(default_factory=ResourcePool)
    nodeName: str | None = None
    nodeSelector: NodeSelector | None = None
    allNodes: bool | None = None
    perDeviceNodeSelection: bool | None = None
    devices: list[Device] | None = None
    sharedCounters: list[CounterSet] | None = None


class ResourceSlice(Base):
    """A ResourceSlice: devices that a driver offers."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)


class CELSelector(Base):
    """selectors[].cel."""

    expression: str = ""


class DeviceSelector(Base):
    """One selector of devices; all of them must hold."""

    cel: CELSelector | None = None


class DeviceClassSpec(Base):
    """spec of a DeviceClass."""

    selectors: list[DeviceSelector] | None = None
    extendedResourceName: str | None = None


class DeviceClass(Base):
    """A DeviceClass."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class CapacityRequirements(Base):
    """capacity of a request: what it asks for of the capacities of each of its devices."""

    requests: dict[str, str | int | float] | None = None


class ExactDeviceRequest(Base):
    """requests[].exactly of a claim, or one of `firstAvailable`, which has a name."""

    name: str = ""
    deviceClassName: str = ""
    selectors: list[DeviceSelector] | None = None
    allocationMode: str = "ExactCount"
    count: int = 1
    adminAccess: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: CapacityRequirements | None = None


class DeviceRequest(Base):
    """requests[] of a claim: exactly one, or the first of these that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    firstAvailable: list[ExactDeviceRequest] | None = None


class DeviceConstraint(Base):
    """constraints[] of a claim: what its devices must have in common, or must not."""

    requests: list[str] | None = None
    matchAttribute: str | None = None
    distinctAttribute: str | None = None


class DeviceClaim(Base):
    """spec.devices of a claim."""

    requests: list[DeviceRequest] | None = None
    constraints: list[DeviceConstraint] | None = None


class ResourceClaimSpec(Base):
    """spec of a ResourceClaim."""

    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class AllocatedDevice(Base):
    """status.allocation.devices.results[]: a device that the claim has, or a share of it.

    consumedCapacity: of each capacity of a device that may have several claims, what this one has.
    """

    driver: str = ""
    pool: str = ""
    device: str = ""
    adminAccess: bool | None = None
    shareID: str | None = None
    consumedCapacity: dict[str, str | int | float] | None = None


class DeviceAllocationResult(Base):
    """status.allocation.devices."""

    results: list[AllocatedDevice] | None = None


class AllocationResult(Base):
    """status.allocation: the devices, and the nodes from which they can be reached."""

    devices: DeviceAllocationResult = msgspec.field(default_factory=DeviceAllocationResult)
    nodeSelector: NodeSelector | None = None


class Consumer(Base):
    """status.reservedFor[]."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(Base):
    """status of a ResourceClaim."""

    allocation: AllocationResult | None = None
    reservedFor: list[Consumer] | None = None


class ResourceClaim(Base):
    """A ResourceClaim."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)


class TemplateSpec(Base):
    """spec of a ResourceClaimTemplate."""

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(Base):
    """A ResourceClaimTemplate: what a pod's own claim is made from."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: TemplateSpec = msgspec.field(default_factory=TemplateSpec)


class DeviceTaintSelector(Base):
    """spec.deviceSelector of a DeviceTaintRule: all of these must be those of the device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Base):
    """spec of a DeviceTaintRule; without a selector it taints nothing."""

    taint: Taint
    deviceSelector: DeviceTaintSelector | None = None


class DeviceTaintRule(Base):
    """A DeviceTaintRule: a taint that an administrator puts on devices of others."""

    spec: DeviceTaintRuleSpec
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def selects(self, driver: str, pool: str, device: str) -> bool:
        """Whether that device has its taint."""
        chosen = self.spec.deviceSelector
        return chosen is not None and (
            chosen.driver in (None, driver)
            and chosen.pool in (None, pool)
            and chosen.device in (None, device)
        )

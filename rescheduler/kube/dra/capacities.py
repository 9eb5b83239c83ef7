"""What a claim consumes of a device that several claims may share.

Source: dynamic-resource-allocation structured/internal/incubating/consumable_capacity.go. Amounts
are in nanos, exactly.
"""

from collections.abc import Mapping

from rescheduler.kube.dra.cel import Unclear
from rescheduler.kube.dra.devices import (
    CapacityRange,
    CapacityRequestPolicy,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)
from rescheduler.kube.quantity import NANO, nanos

Amounts = Mapping[str, int]
"""Name of a capacity to an amount in nanos."""


def requested_amounts(requirements: CapacityRequirements | None) -> Amounts:
    """What a request asks for of the capacities of each of its devices."""
    requests = (requirements and requirements.requests) or {}
    return {name: nanos(amount) for name, amount in requests.items()}


def consumed_of(device: Device, requested: Amounts, driver: str) -> Amounts | None:
    """What such a request consumes of each capacity of the device; None: it cannot have a part.

    Raises:
        Unclear: the device's policy is not one that the API server admits in 1.36, or the request
            is one that versions of the allocator read differently.
    """
    capacity = device.capacity or {}
    for name, amount in requested.items():
        other = _other_spelling(name, driver)
        if other in capacity or other in requested:
            raise Unclear(f"capacities {name} and {other} are one only since 1.38")
        if amount < 0:
            raise Unclear(f"it asks for a negative amount of {name}")
    if not requested.keys() <= capacity.keys():
        return None
    answer = {}
    for name, device_capacity in capacity.items():
        policy = device_capacity.requestPolicy
        amount = (
            _round_up(requested[name], policy)
            if name in requested
            else _default_amount(device_capacity)
        )
        if amount > nanos(device_capacity.value) or (policy and _violates_policy(amount, policy)):
            return None
        answer[name] = amount
    return answer


def _other_spelling(name: str, driver: str) -> str:
    """The other name of a capacity of this driver: with its domain, or without (1.38)."""
    domain, slash, short = name.rpartition("/")
    if not slash:
        return f"{driver}/{name}"
    return short if domain == driver else ""


def _default_amount(capacity: DeviceCapacity) -> int:
    """fillEmptyRequest: the default, or all there is."""
    policy = capacity.requestPolicy
    default = None if policy is None else policy.default
    return nanos(capacity.value if default is None else default)


def _round_up(amount: int, policy: CapacityRequestPolicy | None) -> int:
    """calculateConsumedCapacity: up to the next amount that the policy allows, if there is one."""
    if policy is None:
        return amount
    if policy.validRange is not None:
        least, step = _lattice(policy.validRange)
        if amount < least:
            return least
        return least - (least - amount) // step * step if step else amount
    allowed = (nanos(value) for value in policy.validValues or ())
    return next((value for value in allowed if amount <= value), amount)


def _violates_policy(amount: int, policy: CapacityRequestPolicy) -> bool:
    """violatesPolicy: whether it is neither the default nor an amount that the policy allows."""
    if policy.default is not None and amount == nanos(policy.default):
        return False
    if policy.validRange is not None:
        most = policy.validRange.max
        least, step = _lattice(policy.validRange)
        return (most is not None and amount > nanos(most)) or bool(step and (amount - least) % step)
    values = policy.validValues
    return bool(values) and amount not in {nanos(value) for value in values or ()}


def _lattice(allowed: CapacityRange) -> tuple[int, int]:
    """Where the range begins and its step, 0 for none.

    Fractions are not worked out where there are steps: 1.36 rounds them up to whole units, and
    later versions do not.
    """
    if allowed.min is None:
        raise Unclear("the validRange of a capacity has no min")
    least, step = nanos(allowed.min), 0 if allowed.step is None else nanos(allowed.step)
    if allowed.step is not None and (step <= 0 or step % NANO or least % NANO):
        raise Unclear("the validRange of a capacity has steps that are not of whole units")
    return least, step

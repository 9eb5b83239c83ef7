"""Devices of which several claims may have a part: who still fits, and who cannot be predicted."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from rescheduler.kube.dra.capacities import consumed_of, requested_amounts
from rescheduler.kube.dra.devices import CapacityRequirements, Device, ResourceClaim
from rescheduler.kube.quantity import nanos
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import controller, pod
from tests.draws import tries
from tests.scheduler.plugins.devices import (
    CLAIMS,
    cluster,
    held,
    offered,
    one,
    refused,
    template,
    where,
)

STEPS = {"default": "10Gi", "validRange": {"min": "10Gi", "step": "10Gi"}}


def divisible(name: str, memory: str = "80Gi", policy: Any = STEPS, **more: Any) -> dict[str, Any]:
    capacity = {"memory": {"value": memory, "requestPolicy": policy}}
    return {"name": name, "allowMultipleAllocations": True, "capacity": capacity, **more}


def part(count: int = 1, /, **asked: str) -> dict[str, Any]:
    return one(count=count, capacity={"requests": asked}) if asked else one(count=count)


def holding(by: str, on: str, device: str, **consumed: str) -> ResourceClaim:
    claim = held(by, on, device)
    allocation = claim.status.allocation
    assert allocation is not None
    (result,) = allocation.devices.results or []
    result.shareID = f"{by}-{device}"
    result.consumedCapacity = dict(consumed)
    return claim


def test_a_part_goes_where_so_much_is_left_after_rounding() -> None:
    slices = [offered("a", divisible("0")), offered("b", divisible("0"))]
    taken = [holding("q", "a", "0", memory="70Gi"), holding("r", "b", "0", memory="60Gi")]
    expected = {"5Gi": [True, True], "10Gi": [True, True], "11Gi": [False, True]}
    for asked, answer in expected.items():
        wanted = template(part(memory=asked))
        assert where(wanted, *slices, resource_claims=taken) == answer
    assert where(template(part()), *slices, resource_claims=taken) == [True, True]
    assert where(template(part(memory="90Gi")), *slices) == [False, False]


def test_several_of_one_request_get_parts_of_different_devices() -> None:
    slices = [offered("a", divisible("0")), offered("b", divisible("0"), divisible("1"))]
    assert where(template(part(2, memory="10Gi")), *slices) == [False, True]


def test_requests_that_are_alike_may_get_parts_of_one_device() -> None:
    slices = [offered("a", divisible("0")), offered("b", divisible("0"), divisible("1"))]
    assert where(template(part(memory="40Gi"), part(memory="40Gi")), *slices) == [True, True]
    assert where(template(part(memory="50Gi"), part(memory="50Gi")), *slices) == [False, True]


def test_a_device_that_a_claim_has_in_whole_gives_no_parts() -> None:
    slices = [offered("a", divisible("0")), offered("b", divisible("0"))]
    found = where(template(part()), *slices, resource_claims=[held("q", "a", "0")])
    assert found == [False, True]


def test_devices_without_parts_are_taken_whole_if_large_enough() -> None:
    whole = {"name": "0", "capacity": {"memory": {"value": "40Gi"}}}
    slices = [offered("a", whole), offered("b", divisible("0"))]
    assert where(template(part(memory="50Gi")), *slices) == [False, True]
    taken = [held("q", "a", "0"), holding("r", "b", "0", memory="10Gi")]
    assert where(template(part(memory="30Gi")), *slices, resource_claims=taken) == [False, True]


def test_every_capacity_counts_and_without_a_policy_all_of_it_goes() -> None:
    both = divisible("0")
    both["capacity"]["cores"] = {"value": "100"}
    slices = [offered("a", both), offered("b", divisible("0"))]
    taken = [holding("q", on, "0", memory="10Gi", cores="1") for on in "ab"]
    assert where(template(part(memory="10Gi")), *slices, resource_claims=taken) == [False, True]


def test_a_device_without_capacities_serves_any_number_of_claims() -> None:
    endless = {"name": "0", "allowMultipleAllocations": True}
    taken = [holding(f"q{n}", "a", "0") for n in range(5)]
    assert where(template(part()), offered("a", endless), resource_claims=taken) == [True, False]


def test_parts_follow_the_pods() -> None:
    owner = controller("StatefulSet", "o")
    slices = [offered(on, divisible("0")) for on in "ab"]
    mine = pod("p", "a", owner=owner, **CLAIMS)
    wanted = template(part(memory="50Gi"))
    taken = [holding("p", "a", "0", memory="50Gi")]
    made = cluster(wanted, slices, mine, pod("q", **CLAIMS), resource_claims=taken)
    model = SchedulerModel(made)
    assert model.feasible(1).tolist() == [False, True]
    model.commit(Shift(0, 0, 1))
    assert model.feasible(1).tolist() == [True, False]
    model.commit(Shift(0, 1, 0))
    assert model.feasible(1).tolist() == [False, True]


def test_parts_of_two_alike_requests_are_freed_together() -> None:
    owner = controller("StatefulSet", "o")
    slices = [offered(on, divisible("0")) for on in "ab"]
    mine = pod("p", "a", owner=owner, **CLAIMS)
    taken = [holding("p", "a", "0", memory="40Gi"), holding("p", "a", "0", memory="40Gi")]
    wanted = template(part(memory="40Gi"), part(memory="40Gi"))
    made = cluster(wanted, slices, mine, pod("q", **CLAIMS), resource_claims=taken)
    model = SchedulerModel(made)
    assert model.feasible(1).tolist() == [False, True]
    model.commit(Shift(0, 0, 1))
    assert model.feasible(1).tolist() == [True, False]


@every(
    [
        (template(part(memory="10Gi"), part(memory="20Gi")), "different parts"),
        (template(part(2, memory="10Gi"), part(2, memory="10Gi")), "several devices each"),
        (template(one(allocationMode="All")), "all devices"),
        (template(part(33)), "more than 32"),
        (template(part(memory="much")), "not a Kubernetes quantity"),
    ]
)
def test_what_would_have_to_be_packed_is_refused(wanted: Any, said: str) -> None:
    assert said in refused(wanted, offered("a", divisible("0")))


def test_parts_are_not_given_where_the_gate_is_off() -> None:
    usual = default_profile("v1.36.3")
    profiles = {usual.name: replace(usual, consumable_capacity=False)}
    for device, asked in ((divisible("0"), part()), ({"name": "0"}, part(memory="1"))):
        made = cluster(template(asked), [offered("a", device)])
        refusal = SchedulerModel(made, profiles).landing(0).refusal
        assert refusal is not None
        assert "DRAConsumableCapacity is off" in refusal.message


def test_classes_may_select_devices_that_give_parts() -> None:
    slices = [offered("a", {"name": "0"}), offered("b", divisible("0"))]
    wanted = template(one("device.allowMultipleAllocations"))
    assert where(wanted, *slices) == [False, True]


def test_an_exhaustive_search_finds_the_same_nodes() -> None:
    """The allocator tries every assignment (allocateOne); here that is written out."""
    draw = random.Random(36)
    predicted = fitted = 0
    for _ in range(tries(3000)):
        devices = [_device(draw, str(number)) for number in range(draw.randint(1, 4))]
        requests = _requests(draw)
        claims = list(_claims(draw, devices))
        made = cluster(template(*requests), [offered("a", *devices)], resource_claims=claims)
        model = SchedulerModel(made)
        refusal = model.landing(0).refusal
        if refusal is not None and refusal.code == "FEA005":
            continue
        expected = Allocator(devices, requests, claims).fits()
        assert model.feasible(0).tolist() == [expected, False], (devices, requests, claims)
        predicted += 1
        fitted += expected
    assert predicted > 0.46 * tries(3000)
    assert 0.2 < fitted / predicted < 0.8


def _device(draw: random.Random, name: str) -> dict[str, Any]:
    policies = [
        None,
        {"default": "2", "validRange": {"min": "1", "step": "2", "max": "9"}},
        {"default": "1", "validRange": {"min": "1"}},
        {"default": "3", "validValues": ["1", "3", "6"]},
    ]
    made: dict[str, Any] = {"name": name}
    capacity: dict[str, dict[str, Any]] = {
        dimension: {"value": str(draw.randint(3, 12))} for dimension in draw.choice(["x", "xy"])
    }
    if draw.random() < 0.8:
        made["allowMultipleAllocations"] = True
        for device_capacity in capacity.values():
            device_capacity["requestPolicy"] = draw.choice(policies)
    return {**made, "capacity": capacity}


def _requests(draw: random.Random) -> list[dict[str, Any]]:
    asked = draw.choice([{}, {"x": str(draw.randint(1, 7))}, {"x": "1500m"}, {"x": "2", "y": "2"}])
    if draw.random() < 0.5:
        return [part(draw.randint(1, 3), **asked)]
    return [part(1, **asked)] * draw.randint(1, 3)


def _claims(draw: random.Random, devices: list[dict[str, Any]]) -> Iterator[ResourceClaim]:
    for device in devices:
        for number in range(draw.randint(0, 2)):
            if device.get("allowMultipleAllocations"):
                used = {name: str(draw.randint(0, 3)) for name in device["capacity"]}
                yield holding(f"q{number}", "a", device["name"], **used)
            elif draw.random() < 0.3:
                yield held(f"q{number}", "a", device["name"])


class Allocator:
    """Every assignment of devices to requests, one after the other, on one node."""

    def __init__(self, devices: Any, requests: Any, claims: list[ResourceClaim]) -> None:
        self._devices = [msgspec.convert(device, Device) for device in devices]
        self._counts = [request["count"] for request in requests]
        self._asked = [
            requested_amounts(msgspec.convert(request.get("capacity"), CapacityRequirements | None))
            for request in requests
        ]
        self._used = [Counter[str]() for _ in devices]
        self._whole = [False for _ in devices]
        for claim in claims:
            assert claim.status.allocation is not None
            for result in claim.status.allocation.devices.results or ():
                self._whole[int(result.device)] |= not result.shareID
                consumed = (result.consumedCapacity or {}).items()
                self._used[int(result.device)].update({n: nanos(v) for n, v in consumed})

    def fits(self, request: int = 0, had: int = 0, start: int = 0) -> bool:
        """Whether the rest of the requests can be served."""
        if request == len(self._counts):
            return True
        if had == self._counts[request]:
            return self.fits(request + 1)
        return any(self._try(request, had, device) for device in range(start, len(self._devices)))

    def _try(self, request: int, had: int, number: int) -> bool:
        device, before = self._devices[number], self._used[number]
        taken = consumed_of(device, self._asked[request], "gpu.example.com")
        if self._whole[number] or taken is None:
            return False
        after = before + Counter(taken)
        if any(
            after[name] > nanos(capacity.value)
            for name, capacity in (device.capacity or {}).items()
        ):
            return False
        self._used[number] = after
        self._whole[number] = not device.allowMultipleAllocations
        found = self.fits(request, had + 1, number + 1)
        self._used[number], self._whole[number] = before, False
        return found

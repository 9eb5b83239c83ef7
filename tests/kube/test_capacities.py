"""What a claim consumes of a device's capacity; the cases are those of Kubernetes' own test.

Source: dynamic-resource-allocation structured/internal/incubating, consumable_capacity_test.go.
"""

from typing import Any

import msgspec
import pytest

from rescheduler.kube.dra.capacities import consumed_of
from rescheduler.kube.dra.cel import Unclear
from rescheduler.kube.dra.devices import Device
from rescheduler.kube.quantity import nanos
from tests.cases import every

DRIVER = "gpu.example.com"


def consumed(asked: str | None, value: str, policy: dict[str, Any] | None) -> int | None:
    offered = {
        "name": "d",
        "allowMultipleAllocations": True,
        "capacity": {"c": {"value": value, "requestPolicy": policy}},
    }
    device = msgspec.convert(offered, Device)
    found = consumed_of(device, {} if asked is None else {"c": nanos(asked)}, DRIVER)
    return None if found is None else found["c"]


def between(least: str, **more: str) -> dict[str, Any]:
    return {"default": "1", "validRange": {"min": least, **more}}


def among(*values: str) -> dict[str, Any]:
    return {"default": "1", "validValues": list(values)}


@every(
    [
        (None, "1", {}, "1"),
        (None, "2", None, "2"),
        (None, "2", between("1"), "1"),
        (None, "2", among("1"), "1"),
        ("2", "2", None, "2"),
        ("2", "2", between("1"), "2"),
        ("1", "2", between("2"), "2"),
        ("500m", "2", between("1", step="1"), "1"),
        ("2", "3", between("1", step="2"), "3"),
        ("2", "2", between("1", step="1"), "2"),
        ("1001m", "3", between("1", step="1"), "2"),
        ("1500m", "2", between("1"), "1500m"),
        ("2", "3", among("1", "2", "3"), "2"),
        ("2", "3", among("1", "3"), "3"),
        ("1", "2", between("1", max="2"), "1"),
    ]
)
def test_amounts_are_rounded_up_as_the_policy_says(
    asked: str | None, value: str, policy: Any, expected: str
) -> None:
    assert consumed(asked, value, policy) == nanos(expected)


@every(
    [
        ("3", "3", among("1", "2")),
        ("2", "3", between("1", max="1")),
        ("2", "4", between("1", max="2", step="2")),
        ("3", "2", None),
        ("2", "2", between("1", step="2")),
    ]
)
def test_devices_that_cannot_give_so_much_serve_nobody(asked: str, value: str, policy: Any) -> None:
    assert consumed(asked, value, policy) is None


def test_a_capacity_that_the_device_does_not_have_is_not_there() -> None:
    device = msgspec.convert({"name": "d", "capacity": {"memory": {"value": "1"}}}, Device)
    for name in ("other.example.com/memory", "cores"):
        assert consumed_of(device, {name: nanos("1")}, DRIVER) is None


@every(
    [
        (["memory"], ["gpu.example.com/memory"]),
        (["gpu.example.com/memory"], ["memory"]),
        (["memory", "gpu.example.com/memory"], ["memory"]),
        (["memory"], ["memory", "gpu.example.com/memory"]),
    ]
)
def test_names_that_are_one_capacity_only_since_1_38_are_not_worked_out(
    offered: list[str], asked: list[str]
) -> None:
    capacity = {name: {"value": "1"} for name in offered}
    device = msgspec.convert({"name": "d", "capacity": capacity}, Device)
    with pytest.raises(Unclear, match=r"gpu\.example\.com/memory"):
        consumed_of(device, dict.fromkeys(asked, nanos("1")), DRIVER)


@pytest.mark.parametrize("name", ["memory", "gpu.example.com/memory", "else.example.com/memory"])
def test_a_capacity_is_found_by_the_name_that_the_device_gives_it(name: str) -> None:
    device = msgspec.convert({"name": "d", "capacity": {name: {"value": "2"}}}, Device)
    assert consumed_of(device, {name: nanos("1")}, DRIVER) == {name: nanos("1")}


def test_a_negative_request_is_not_rounded_up() -> None:
    with pytest.raises(Unclear, match="negative"):
        consumed("-1", "2", between("1"))


@every([{"min": "1", "step": "0"}, {"min": "500m", "step": "1"}, {"min": "1", "step": "1500m"}, {}])
def test_steps_that_versions_round_differently_are_not_worked_out(allowed: Any) -> None:
    with pytest.raises(Unclear):
        consumed("2", "4", {"default": "1", "validRange": allowed})

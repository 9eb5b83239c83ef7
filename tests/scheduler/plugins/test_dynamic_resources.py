"""Devices: what a template asks for against what slices offer and claims have."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.kube.dra.cel import CelDevice, Unclear, evaluate, parse
from rescheduler.kube.dra.devices import (
    Device,
)
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import controller, pod
from tests.scheduler.plugins.devices import (
    CLAIMS,
    DRIVER,
    cluster,
    gpu,
    gpu_class,
    held,
    offered,
    one,
    refused,
    template,
    where,
)

MODEL = f'device.attributes["{DRIVER}"].model == "H100"'
SIZE = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("60Gi")) >= 0'


@pytest.mark.parametrize("expression", [MODEL, SIZE, f"!({MODEL}) || {SIZE}"])
def test_selectors_choose_devices(expression: str) -> None:
    expected = [True, True] if "||" in expression else [False, True]
    found = where(template(one(expression)), offered("a", gpu("0")), offered("b", gpu("0", "H100")))
    assert found == expected


def test_counts_need_so_many_free_devices() -> None:
    slices = [offered("a", gpu("0"), gpu("1")), offered("b", gpu("0"), gpu("1"))]
    taken = [held("q", "a", "0")]
    assert where(template(one(count=2)), *slices, resource_claims=taken) == [False, True]
    assert where(template(one(), one()), *slices, resource_claims=taken) == [False, True]


def test_requests_that_overlap_share_devices_out() -> None:
    wanted = template(one(MODEL), one())
    assert where(
        wanted, offered("a", gpu("0", "H100")), offered("b", gpu("0"), gpu("1", "H100"))
    ) == [False, True]


def test_all_devices_must_be_there_and_free() -> None:
    wanted = template(one(allocationMode="All"))
    slices = [offered("a", gpu("0"), gpu("1")), offered("b", gpu("0"))]
    taken = [held("q", "a", "1")]
    assert where(wanted, *slices, resource_claims=taken) == [False, True]


def test_devices_of_one_claim_may_have_to_be_alike() -> None:
    wanted = template(one(count=2), constraints=[{"matchAttribute": "topology/numa"}])
    apart = offered("a", gpu("0", numa=0), gpu("1", numa=1))
    near = offered("b", gpu("0", numa=1), gpu("1", numa=1))
    assert where(wanted, apart, near) == [False, True]


def test_tainted_and_outdated_devices_do_not_count() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    slices = [offered("a", gpu("0", taints=[taint])), offered("b"), offered("b", gpu("0"))]
    slices[2].spec.pool.generation = 2
    assert where(template(one()), *slices) == [False, True]


def test_a_replacement_finds_devices_free_only_when_the_pod_is_gone() -> None:
    for kind, expected in (("ReplicaSet", [False, True]), ("StatefulSet", [True, True])):
        mine = pod("p", "a", owner=controller(kind, "o"), **CLAIMS)
        slices = [offered("a", gpu("0")), offered("b", gpu("0"))]
        made = cluster(template(one()), slices, mine, resource_claims=[held("p", "a", "0")])
        assert SchedulerModel(made).feasible(0).tolist() == expected


def test_devices_follow_the_pods() -> None:
    owner = controller("StatefulSet", "o")
    mine = pod("p", "a", owner=owner, **CLAIMS)
    slices = [offered("a", gpu("0")), offered("b", gpu("0"))]
    made = cluster(
        template(one()), slices, mine, pod("q", **CLAIMS), resource_claims=[held("p", "a", "0")]
    )
    model = SchedulerModel(made)
    assert model.feasible(1).tolist() == [False, True]
    model.commit(Shift(0, 0, 1))
    assert model.feasible(1).tolist() == [True, False]
    model.commit(Shift(0, 1, 0))
    assert model.feasible(1).tolist() == [False, True]


def test_a_scheduler_first_asked_after_a_move_sees_where_devices_are() -> None:
    owner = controller("StatefulSet", "o")
    slices = [offered("a", gpu("0")), offered("b", gpu("0"))]
    mine, other = pod("p", "a", owner=owner, **CLAIMS), pod("q", schedulerName="mine", **CLAIMS)
    made = cluster(template(one()), slices, mine, other, resource_claims=[held("p", "a", "0")])
    usual = default_profile("v1.36.3")
    profiles = {usual.name: usual, "mine": replace(usual, name="mine")}
    model = SchedulerModel(made, profiles)
    model.commit(Shift(0, 0, 1))
    assert model.feasible(1).tolist() == [True, False]


@every(
    [
        (template({"name": "r", "firstAvailable": []}), "of a kind that is not known"),
        (template(one(adminAccess=True)), "access"),
        (template(one('device.attributes["x"].exists(y, y)')), "not evaluated"),
        (template(one(f'device.attributes["{DRIVER}"].color == "red"')), "no color"),
        (template(one(), constraints=[{"distinctAttribute": "topology/numa"}]), "constraints"),
        (template({**one(), "deviceClassName": "fpga"}), "fpga is not there"),
    ]
)
def test_what_cannot_be_worked_out_is_refused(wanted: Any, said: Any) -> None:
    assert said in refused(wanted, offered("a", gpu("0")))


def test_devices_that_are_not_plainly_of_a_node_are_refused() -> None:
    assert "several nodes" in refused(template(one()), offered("a", gpu("0"), allNodes=True))
    counters = [{"counterSet": "c"}]
    part = offered("a", gpu("0", consumesCounters=counters))
    assert "counters c are not in pool a" in refused(template(one()), part)
    torn = offered("a", gpu("0"))
    torn.spec.pool.resourceSliceCount = 2
    assert "not all devices" in refused(template(one()), torn)


def test_unread_kinds_and_named_claims_are_refused() -> None:
    assert "ResourceSlice was not read" in refused(template(one()), unread=["ResourceSlice"])
    named = pod("p", resourceClaims=[{"name": "g", "resourceClaimName": "shared"}])
    refusal = SchedulerModel(cluster(template(one()), [], named)).landing(0).refusal
    assert refusal is not None
    assert "shared by its name" in refusal.message


def test_a_resource_that_a_class_may_serve_is_refused_since_1_36() -> None:
    asking = pod("p", requests={"example.com/gpu": "1"})
    classes = [gpu_class(extendedResourceName="example.com/gpu")]
    made = cluster(template(one()), [], asking, device_classes=classes)
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert "device class" in refusal.message


@every(
    [
        ('device.driver in ["x", "gpu.example.com"]', True),
        ('device.attributes["topology"].numa > 0', False),
        ('device.driver == "x" && device.attributes["x"].y == 1', False),
        ('device.attributes["x"].y == 1 || device.driver.startsWith("gpu")', True),
        (f'device.capacity["{DRIVER}"].memory.isLessThan(quantity("41Gi"))', True),
        (f'device.attributes["{DRIVER}"]["model"] != "A100"', False),
    ]
)
def test_expressions(text: str, expected: bool) -> None:
    subject = CelDevice(DRIVER, msgspec.convert(gpu("0"), Device))
    assert evaluate(parse(text), subject) is expected


@every(
    [
        'device.attributes["x"].y == 1',
        "device.driver",
        "device.driver < 1",
        "device.nothing == 1",
        "semver('1.0.0')",
        "device.driver ==",
        "device.driver == 'a' ? true : false",
        'quantity("many").compareTo(quantity("1")) == 0',
    ]
)
def test_expressions_that_are_not_evaluated(text: str) -> None:
    subject = CelDevice(DRIVER, msgspec.convert(gpu("0"), Device))
    with pytest.raises(Unclear):
        evaluate(parse(text), subject)

"""Whom a kubelet refuses, by what its zones, its node and its pods tell: one case each."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.planning.eligibility.kubelet_admission import KubeletAdmission
from rescheduler.policytest.topologies import topology
from tests.cluster import NOW, controller, node, pod, snapshot
from tests.policies.numa_drawing import GPU

GIB = 2**30
HUGE = "hugepages-1Gi"
POLICIES = ["none", "best-effort", "restricted", "single-numa-node"]
Asked = Mapping[str, Any]
ZoneAmounts = Mapping[str, tuple[float, float] | float]


def box(name: str, asked: Asked, **more: Any) -> dict[str, Any]:
    """A container that is limited in this, and requests as much."""
    limits = {key: str(value) for key, value in asked.items()}
    return {"name": name, "resources": {"limits": limits, "requests": limits}, **more}


def sure(cpu: Any = 1, memory: Any = GIB, **devices: Any) -> dict[str, Any]:
    """What a container of a Guaranteed pod asks for; `gpu` and `huge` by these names."""
    names = {"gpu": GPU, "huge": HUGE}
    return {"cpu": cpu, "memory": memory, **{names[key]: value for key, value in devices.items()}}


def job(name: str, on: str, *asked: Asked, inits: list[dict[str, Any]] | None = None) -> Pod:
    """A pod with a container for each of these."""
    boxes = [box(f"c{number}", request) for number, request in enumerate(asked)]
    return pod(name, on, containers=boxes, initContainers=inits or [])


def refused(
    comes: Pod,
    *zones: ZoneAmounts,
    policy: str,
    scope: str = "container",
    there: tuple[Pod, ...] = (),
    capacity: Mapping[str, list[float]] | None = None,
    of_node: Mapping[str, Mapping[str, str]] | None = None,
    controllers: tuple[Controller, ...] = (),
) -> bool:
    """Whether the kubelet of n1 would refuse the pod that is on n2.

    capacity: resource to what each zone has in all, where that is more than may be given.
    of_node: `capacity` and `allocatable` of the node.
    """
    told = topology("n1", *zones, policy=policy, scope=scope)
    for number, zone in enumerate(told.zones or ()):
        for one in zone.resources or ():
            amount = zones[number][one.name]
            total, free = amount if isinstance(amount, tuple) else (amount, amount)
            one.capacity, one.allocatable, one.available = map(int, (total, total, free))
            one.capacity = f"{(capacity or {}).get(one.name, {number: one.capacity})[number]}"
    here = node("n1")
    here.status.capacity = {**(here.status.capacity or {}), **(of_node or {}).get("capacity", {})}
    here.status.allocatable = {
        **(here.status.allocatable or {}),
        **(of_node or {}).get("allocatable", {}),
    }
    comes.node = "n2"
    pods = [*there, comes]
    cluster = snapshot([here, node("n2")], pods, topologies=[told], controllers=controllers)
    return KubeletAdmission(cluster).rejects(len(there), 1, 0)


def test_a_kubelet_refuses_by_what_the_replacement_asks_for() -> None:
    """The newest pod of its controller has more, as admission sets requests now."""
    owner = controller("Job", "train", template={"spec": {}})
    old, young = (
        pod(name, "n2", owner=owner, containers=[box("c0", sure(cpu=cpu))])
        for name, cpu in (("old", 2), ("young", 6))
    )
    zones = [{"memory": 16 * GIB, "cpu": 4}] * 2
    young.metadata.creationTimestamp = NOW - timedelta(hours=1)
    for asked, by in ((False, ()), (True, (owner,))):
        found = refused(old, *zones, policy="single-numa-node", there=(young,), controllers=by)
        assert found == asked


def memory(*free: float, total: float = 16) -> list[dict[str, tuple[float, float]]]:
    """Zones with so many GiB free."""
    return [{"memory": (total * GIB, gigabytes * GIB), "cpu": (8, 8)} for gigabytes in free]


@pytest.mark.parametrize("policy", POLICIES)
def test_memory_that_no_zones_have_is_refused_under_any_policy(policy: str) -> None:
    # Two zones that pods have alone each: a container that needs both is refused by Allocate.
    there = tuple(job(f"p{n}", "n1", sure(memory=6 * GIB)) for n in range(2))
    for asked, verdict in ((12, True), (9, False)):
        comes = job("x", "", sure(memory=asked * GIB))
        assert refused(comes, *memory(10, 10), policy=policy, there=there) is verdict


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
def test_what_an_ended_init_container_holds_is_not_free(policy: str) -> None:
    # One of node-1's two GPUs is held by nobody that is listed, and lies in either zone.
    holder = job("p", "n1", sure(), inits=[box("i", sure(gpu=1))])
    zones: list[ZoneAmounts] = [{GPU: 2, "cpu": (8, 7)}, {GPU: 2, "cpu": (8, 8)}]
    assert not refused(job("x", "", sure(gpu=1)), *zones, policy=policy, there=(holder,))
    # With two in either zone one of the zones has both.
    assert not refused(job("x", "", sure(gpu=2)), *zones, policy=policy, there=(holder,))
    two = (holder, job("q", "n1", sure(), inits=[box("i", sure(gpu=1))]))
    assert refused(job("x", "", sure(gpu=2)), *zones, policy=policy, there=two)


def test_cpus_of_an_ended_init_container_are_not_free() -> None:
    holder = job("p", "n1", sure(cpu=1), inits=[box("i", sure(cpu=5))])
    zones = [{"cpu": (8, 7)}]
    for cpus, verdict in ((4, True), (3, False)):
        comes = job("x", "", sure(cpu=cpus))
        assert refused(comes, *zones, policy="restricted", there=(holder,)) is verdict


def test_more_than_eight_zones_are_judged_by_those_that_have_the_resource() -> None:
    busy = [{"cpu": (16.0, 4.0), GPU: (2.0, 1.0)}, {"cpu": (16.0, 4.0), GPU: (2.0, 1.0)}]
    there = tuple(job(f"p{n}", "n1", sure(gpu=1)) for n in range(2))
    wide: list[ZoneAmounts] = [*busy, *[{"example.com/hbm": 1.0}] * 30]
    assert refused(job("x", "", sure(gpu=2)), *wide, policy="restricted", there=there)
    assert not refused(job("x", "", sure(gpu=1)), *wide, policy="restricted", there=there)


def test_zones_that_pods_have_together_are_not_given_to_one_alone() -> None:
    large = job("p", "n1", sure(memory=20 * GIB))
    for asked, verdict in ((1, True), (17, True)):
        comes = job("x", "", sure(memory=asked * GIB))
        shared = memory(0, 12)
        assert refused(comes, *shared, policy="restricted", there=(large,)) is verdict
    assert not refused(
        job("x", "", sure()), *memory(0, 12, 16), policy="restricted", there=(large,)
    )
    # An exporter may also report the whole of it in each of the zones.
    assert refused(job("x", "", sure()), *memory(0, 0), policy="restricted", there=(large,))


def test_reserved_cpus_count_for_how_few_zones_could_hold_it() -> None:
    zones = [{"cpu": 7}, {"cpu": 7}]
    all_cpus = {"cpu": [8.0, 8.0]}
    # By kubelet's count a zone of eight could hold it: it does not prefer two.
    comes = job("x", "", sure(cpu=8))
    assert refused(comes, *zones, policy="restricted", capacity=all_cpus)
    assert not refused(job("x", "", sure(cpu=9)), *zones, policy="restricted", capacity=all_cpus)


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_an_init_container_comes_first_and_ties_what_follows_to_its_zones(scope: str) -> None:
    # The init container gets node-0, the first that holds it; the container may not leave that.
    zones = [{"cpu": (8, 2)}, {"cpu": (8, 8)}]
    there = (job("q", "n1", sure(cpu=6)),)
    comes = job("x", "", sure(cpu=4), inits=[box("i", sure(cpu=2))])
    by_container = scope == "container"
    assert refused(comes, *zones, policy="restricted", scope=scope, there=there) is by_container
    comes = job("x", "", sure(cpu=2), inits=[box("i", sure(cpu=2))])
    assert not refused(comes, *zones, policy="restricted", scope=scope, there=there)


def test_a_larger_init_container_does_not_keep_a_pod_out() -> None:
    zones = [{GPU: 2, "cpu": 8}, {GPU: 2, "cpu": 8}]
    comes = job("x", "", sure(gpu=1), inits=[box("i", sure(cpu=4, gpu=2))])
    assert not refused(comes, *zones, policy="single-numa-node")
    assert refused(
        job("x", "", sure(gpu=1), inits=[box("i", sure(gpu=3))]), *zones, policy="single-numa-node"
    )


def test_a_sidecar_and_a_later_init_container_are_together_one_pod() -> None:
    zones = [{GPU: 2, "cpu": 8}, {GPU: 2, "cpu": 8}]
    inits = [box("s", sure(gpu=1), restartPolicy="Always"), box("i", sure(gpu=2))]
    comes = job("x", "", sure(gpu=1), inits=inits)
    assert refused(comes, *zones, policy="single-numa-node", scope="pod")
    assert not refused(comes, *zones, policy="single-numa-node", scope="container")


def test_of_pods_with_pod_level_resources_only_devices_are_aligned() -> None:
    zones = [{GPU: (2, 0), "cpu": (8, 1)}, {GPU: (2, 2), "cpu": (8, 1)}]
    there = (job("p", "n1", {GPU: 2}), job("q", "n1", sure(cpu=7)), job("r", "n1", sure(cpu=7)))
    whole = {"cpu": "4", "memory": "4Gi"}
    for gpus, verdict in ((2, False), (3, True)):
        comes = pod(
            "x",
            containers=[box("c", {GPU: gpus})],
            resources={"limits": whole, "requests": whole},
        )
        assert refused(comes, *zones, policy="single-numa-node", there=there) is verdict


def test_memory_and_huge_pages_lie_in_the_same_zones() -> None:
    zones: list[ZoneAmounts] = [
        {"memory": (16 * GIB, 8 * GIB), HUGE: (4 * GIB, 0), "cpu": 8},
        {"memory": (16 * GIB, 2 * GIB), HUGE: (4 * GIB, 4 * GIB), "cpu": 8},
    ]
    there = (
        job("p", "n1", sure(memory=8 * GIB, huge=4 * GIB)),
        job("q", "n1", sure(memory=14 * GIB)),
    )
    for asked, verdict in ((4, True), (2, False)):
        comes = job("x", "", sure(memory=asked * GIB, huge=GIB))
        assert refused(comes, *zones, policy="single-numa-node", there=there) is verdict
    # So few zones as hold both are preferred, though one zone would do for the memory.
    empty = [{"memory": 16 * GIB, HUGE: 4 * GIB}] * 2
    assert not refused(job("x", "", sure(huge=6 * GIB)), *empty, policy="restricted")


def test_a_broken_device_counts_for_how_few_zones_could_hold_it() -> None:
    # With the broken one a zone has two GPUs: kubelet prefers one zone, and none has two free.
    zones = [{GPU: 1, "cpu": 8}, {GPU: 1, "cpu": 8}]
    comes = job("x", "", {GPU: 2})
    assert not refused(comes, *zones, policy="restricted")
    broken = {"capacity": {GPU: "3"}, "allocatable": {GPU: "2"}}
    assert refused(comes, *zones, policy="restricted", of_node=broken)
    # One that broke in use is no longer listed; the pod that holds it still asks for it.
    holder = (job("p", "n1", sure(gpu=1)),)
    assert not refused(
        job("x", "", sure(gpu=1)), *zones, policy="restricted", of_node=broken, there=holder
    )


def test_a_resource_whose_devices_are_all_broken_keeps_out_who_names_it() -> None:
    broken = {"capacity": {GPU: "2"}, "allocatable": {GPU: "0"}}
    for policy in POLICIES:
        assert refused(job("x", "", sure(gpu=0)), {"cpu": 8}, policy=policy, of_node=broken)


def test_a_zone_whose_cpus_are_all_reserved_counts_though_it_is_not_listed() -> None:
    zones = [{"memory": 16 * GIB}, {"cpu": 8, "memory": 16 * GIB}]
    comes = job("x", "", sure(cpu=6, memory=20 * GIB))
    assert refused(comes, *zones, policy="restricted", of_node={"capacity": {"cpu": "16"}})


@pytest.mark.parametrize("kind", ["cpu", "memory"])
def test_what_the_zones_do_not_tell_of_yet_is_not_free(kind: str) -> None:
    # The object is older than the pod; or its exporter does not count memory at all.
    holder = job("p", "n1", sure(cpu=6, memory=12 * GIB))
    zones = [{"cpu": 8, "memory": 16 * GIB}] if kind == "cpu" else memory(16)
    for comes, verdict in ((sure(cpu=4), kind == "cpu"), (sure(memory=8 * GIB), True)):
        given = refused(job("x", "", comes), *zones, policy="restricted", there=(holder,))
        assert given is (verdict or kind == "memory")
    assert not refused(job("x", "", sure()), *zones, policy="restricted", there=(holder,))


def test_a_resource_that_lies_near_no_zone_any_more_keeps_nobody_else_out() -> None:
    broken = {"capacity": {GPU: "2"}, "allocatable": {GPU: "0"}}
    zones = [{GPU: 0, "cpu": 8}]
    assert not refused(job("x", "", sure()), *zones, policy="restricted", of_node=broken)


def test_many_broken_devices_count_wherever_they_lie() -> None:
    zones = [{GPU: 4, "cpu": 8}, {GPU: 4, "cpu": 8}]
    broken = {"capacity": {GPU: "14"}, "allocatable": {GPU: "8"}}
    comes = job("x", "", {GPU: 8})
    assert not refused(comes, *zones, policy="restricted")
    assert refused(comes, *zones, policy="restricted", of_node=broken)


def test_an_ended_init_container_anywhere_makes_a_strict_kubelet_unknown() -> None:
    holders = tuple(
        job(f"p{n}", "n1", sure(cpu="500m"), inits=[box("i", sure(cpu=n + 1, gpu=1))])
        for n in range(8)
    )
    zones = [{GPU: 4, "cpu": 64}] * 4
    assert refused(job("x", "", sure(gpu=1)), *zones, policy="restricted", there=holders)
    assert not refused(job("x", "", {"cpu": 1}), *zones, policy="restricted", there=holders)

"""Utilization of GPUs that pods share: each device for itself, and what nobody can relieve."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.kube.dra.devices import ResourceClaim, ResourceSlice
from rescheduler.model.cluster.readings import DeviceValue, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.utilization.shared_gpus import SharedGpus, read_shared_gpus
from rescheduler.policytest.series_readings import with_devices
from tests import cluster
from tests.picture import picture
from tests.policies.utilization.shared_gpus import LOADS, POOL, SHARES, fleet, policy, term


def test_one_hot_gpu_of_eight_is_found_and_named() -> None:
    bound = term(fleet())
    (n3, n1) = sorted(bound.findings(), key=lambda finding: finding.cost)
    assert n1.code == "UTL003"
    assert n1.subject == "node n1"
    assert n1.message == (
        "node.gpu of GPU 1 (GPU-1) is 90.0%, target 70% (hot above 80%): about 1 of the 2 pods "
        "that share it should leave"
    )
    assert n1.pods == (0, 1)
    assert n3.message.startswith("node.gpu of GPU 1 (GPU-d) is 75.0%")
    assert n3.pods == ()
    assert bound.candidates().tolist() == [0, 1]
    assert bound.hot_nodes().tolist() == [0]


def test_equal_parts_are_said_to_be_so() -> None:
    loads = {**LOADS, "n1": {**LOADS["n1"], "GPU-1": [0.9, "chat-0", "chat-1"]}}
    bound = term(fleet(loads))
    (hot,) = (finding for finding in bound.findings() if finding.subject == "node n1")
    assert hot.message.endswith(
        "its load is counted for them in equal parts, as no metric tells them apart"
    )
    assert bound.usage(0) == {"pod.gpu": pytest.approx(0.45)}


def test_it_gains_as_the_allocator_would_choose() -> None:
    """Of equally held devices the busiest, of unequally held ones the least held."""
    bound = term(fleet())
    # chat-0 takes 0.5 along: to 1.1 on GPU-a of n2; to GPU-d of n3, that has no pod, at 1.25.
    assert bound.overfills(0, np.array([0, 1, 2], np.int32)).tolist() == [False, True, True]
    gains = bound.deltas(0, np.array([1, 2], np.int32))
    unit = (0.1 + 0.5 + 0.4 + 0.2 + 0.3) / 5
    freed = (0.2 + 0.1) / 2 / unit
    assert gains[0] == pytest.approx((0.4 + 0.3) / 2 / unit - freed)
    assert gains[1] == pytest.approx((0.55 - 0.05 + 0.45) / 2 / unit - freed)
    light = {**LOADS, "n1": {**LOADS["n1"], "GPU-1": [0.9, "chat-0=0.1", "chat-1=0.8"]}}
    assert not term(fleet(light)).overfills(0, np.array([1], np.int32)).any()


def test_two_that_come_get_two_devices() -> None:
    bound = term(fleet())
    start = bound.cost()
    for pod in (0, 1):
        bound.commit(Shift(pod, 0, 1))
    after = {
        finding.message[:27]: finding
        for finding in bound.findings()
        if finding.subject == "node n2"
    }
    assert list(after) == ["node.gpu of GPU 0 (GPU-a) i"], "0.5 with 0.6, and 0.4 with 0.1"
    for pod in (0, 1):
        bound.commit(Shift(pod, 1, 0))
    assert bound.cost() == pytest.approx(start)


def test_the_nodes_load_follows_its_devices() -> None:
    bound = term(fleet())
    before = bound.load_after()["node.gpu"].copy()
    bound.commit(Shift(0, 0, 1))
    moved = bound.load_after()["node.gpu"] - before
    assert moved == pytest.approx([-0.5 / 8, 0.5 / 2, 0.0])


def test_where_one_pod_is_not_reported_none_leaves() -> None:
    loads = {**LOADS, "n1": {**LOADS["n1"], "GPU-2": [0.2]}}
    bound = term(fleet(loads))
    assert bound.candidates().tolist() == []
    (warned,) = bound.warnings()
    assert warned == Problem(
        "RDG012", "nobody reports which pods have which GPU of 1 node (n1); they stay"
    )


def test_a_single_gpu_is_shared_by_all_who_ask_for_a_share() -> None:
    drawn = POOL.replace("n1 nvidia.com/gpu.shared 32", "n1 nvidia.com/gpu.shared 4")
    loads = {**LOADS, "n1": {"GPU-0": [0.92, "chat-1"]}}
    bound = term(fleet(loads, drawn))
    assert bound.candidates().tolist() == [0, 1, 2, 3]
    assert bound.usage(0) == {"pod.gpu": pytest.approx(0.23)}


def test_parts_that_do_not_explain_their_gpu_free_nothing() -> None:
    loads = {**LOADS, "n1": {**LOADS["n1"], "GPU-1": [0.9, "chat-0=0.1", "chat-1=0.1"]}}
    bound = term(fleet(loads))
    assert bound.candidates().tolist() == []
    assert [warning.code for warning in bound.warnings()] == ["RDG010"]


@pytest.mark.parametrize(("shown", "codes"), [(True, ["UTL003"]), (False, [])])
def test_partitions_are_shared_only_where_their_plugin_shares_them(
    shown: bool, codes: list[str]
) -> None:
    resource = "nvidia.com/mig-1g.10gb" + (".shared" if shown else "")
    labels = "nvidia.com/mig-1g.10gb.replicas 2" if shown else "x y"
    drawn = f"""
        {labels} | n1 {resource} 4 | chat chat
        {labels} | n2 {resource} 4 | -
    """
    loads = {
        "n1": {"GPU-0/7/1g.10gb": [0.95, "chat-0", "chat-1"], "GPU-0/8/1g.10gb": [0.0]},
        "n2": {"GPU-1/7/1g.10gb": [0.0], "GPU-1/8/1g.10gb": [0.0]},
    }
    bound = term(fleet(loads, drawn, {"chat": {resource: 1}}))
    assert [finding.code for finding in bound.findings()] == codes
    if codes:
        assert "GPU-0/7/1g.10gb" in next(bound.findings()).message


def test_a_gpu_of_another_model_takes_none() -> None:
    drawn = POOL.replace("4 | n1", "4 nvidia.com/gpu.product A100 | n1")
    other = drawn.replace("4 | n2", "4 nvidia.com/gpu.product T4 | n2")
    light = {**LOADS, "n1": {**LOADS["n1"], "GPU-1": [0.9, "chat-0=0.1", "chat-1=0.8"]}}
    assert not term(fleet(light, drawn)).overfills(0, np.array([1], np.int32)).any()
    assert term(fleet(light, other)).overfills(0, np.array([1], np.int32)).all()


def test_shared_gpus_without_a_reading_are_unknown_and_full() -> None:
    loads = {name: LOADS[name] for name in ("n1", "n3")}
    readings = {"node.gpu": {"n1": 0.0, "n2": None, "n3": 0.0}}
    spec: dict[str, Any] = {"minCoverage": 0.5}
    before = picture(POOL, requests=SHARES, readings=readings, policies=[policy(**spec)])
    bound = term(with_devices(before, {"node.gpu": loads}), **spec)
    assert bound.unknown_nodes().tolist() == [False, True, False]
    assert bound.overfills(0, np.array([1], np.int32)).all()
    assert bound.deltas(0, np.array([1], np.int32))[0] > 0
    bound.commit(Shift(0, 0, 1))
    assert any(finding.code == "UTL004" for finding in bound.findings())


def test_whole_gpus_count_only_where_the_policy_says_so() -> None:
    drawn = """
        zone a | n1 gpu 2 | train train
        zone a | n2 gpu 2 | -
    """
    readings: Any = {"node.gpu": {"n1": 0.95, "n2": 0}, "pod.gpu": {"train": 0.95}}
    asks = {"train": {"nvidia.com/gpu": 1}}
    for spec, hot in (({}, []), ({"wholeDevices": "Count"}, [0]), ({"strategy": "Pack"}, [0])):
        made_policy = policy(**spec)
        before = picture(drawn, requests=asks, readings=readings, policies=[made_policy])
        assert term(before, **spec).hot_nodes().tolist() == hot
        why = list(made_policy.absent(before))
        assert bool(why) is not bool(hot)
        assert all("no GPU of these nodes is shared" in reason for reason in why)


def test_where_no_gpu_is_shared_pods_come_and_go() -> None:
    drawn = """
        zone a | n1 gpu 2 | web
        zone a | n2 gpu 2 | -
    """
    readings: Any = {"node.gpu": {"n1": 0.95, "n2": 0}, "pod.gpu": {"web": 0.0}}
    before = picture(drawn, readings=readings, policies=[policy()])
    bound = term(before)
    start = bound.cost()
    bound.commit(Shift(0, 0, 1))
    assert bound.cost() == start
    bound.commit(Shift(0, 1, 0))
    assert bound.cost() == start


def test_whole_devices_without_a_target_of_gpus_has_no_effect() -> None:
    spec: dict[str, Any] = {"targets": {"cpu": {"high": "80%"}}, "wholeDevices": "Count"}
    assert list(policy(**spec).without_effect()) == [
        "no target is of GPUs, so wholeDevices has no effect"
    ]


def test_other_resources_count_beside_shared_gpus() -> None:
    spec: dict[str, Any] = {"targets": {"gpu": {"high": "80%"}, "cpu": {"high": "50%"}}}
    drawn = POOL.replace("n1 ", "n1 cpu 8 ").replace("n2 ", "n2 cpu 8 ").replace("n3 ", "n3 cpu 8 ")
    readings: Any = {
        "node.gpu": dict.fromkeys(LOADS, 0.0),
        "node.cpu": {"n1": 0.2, "n2": 0.2, "n3": 0.9},
        "pod.cpu": {"chat": 0.4, "serve": 0.4},
    }
    before = picture(drawn, requests=SHARES, readings=readings, policies=[policy(**spec)])
    bound = term(with_devices(before, {"node.gpu": LOADS}), **spec)
    assert bound.hot_nodes().tolist() == [0, 2]
    assert {finding.code for finding in bound.findings()} == {"UTL001", "UTL003"}
    assert set(bound.load_after()) == {"node.gpu", "node.cpu"}
    assert bound.scope() == 3


def test_balance_lowers_the_target_to_the_mean_of_the_devices() -> None:
    spec: dict[str, Any] = {"strategy": "Balance", "tolerance": "10%"}
    bound = term(fleet(**spec), **spec)
    mean = (0.1 + 0.9 + 0.2 + 4 * 0.05 + 0.6 + 0.1 + 0.3 + 0.75) / 12
    (hot,) = (finding for finding in bound.findings() if "(GPU-1)" in finding.message)
    assert f"target {mean:.0%} (hot above {mean + 0.1:.0%})" in hot.message


def test_for_how_long_a_gpu_has_been_hot() -> None:
    spec: dict[str, Any] = {"stableFor": "10m"}
    before = fleet(**spec)
    (reading,) = before.readings.entries
    past = {"GPU-1": 0.9, "GPU-2": 0.2}
    devices = tuple(
        replace(device, range_samples=(0.5, *(past.get(device.device, 0.0),) * 10))
        for device in reading.devices
    )
    entry = replace(reading, devices=devices, range_samples=np.zeros((11, 3)))
    bound = term(replace(before, readings=Readings((entry,))), **spec)
    held = bound.finding_ages()
    assert held[:2].tolist() == [540.0, 540.0]
    assert np.isnan(held[2:]).all()


def claimed(capacity: dict[str, str], *consumed: dict[str, str]) -> Snapshot:
    """One device at 90% that may have several claims, and a pod with a claim for each consumption.

    capacity: of the device, by name.
    """
    device = {
        "name": "gpu-0",
        "attributes": {"type": {"string": "gpu"}, "uuid": {"string": "GPU-0"}},
        "allowMultipleAllocations": True,
        "capacity": {name: {"value": value} for name, value in capacity.items()},
    }
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [device],
    }
    slices = [msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice)]
    pods = [cluster.pod(f"p{number}", "n1") for number in range(len(consumed))]
    result = {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
    claims = [
        msgspec.convert(
            {
                "metadata": {"name": f"c{number}", "namespace": "default"},
                "status": {
                    "allocation": {
                        "devices": {
                            "results": [
                                {
                                    **result,
                                    "shareID": str(number),
                                    "consumedCapacity": consumed[number],
                                }
                            ]
                        }
                    },
                    "reservedFor": [
                        {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
                    ],
                },
            },
            ResourceClaim,
        )
        for number, pod in enumerate(pods)
    ]
    (request,) = policy().requests()
    reading = replace(
        cluster.reading("node.gpu", [0.9], capacity=[1.0]),
        request=request,
        devices=(DeviceValue(0, "GPU-0", 0.9, "0"),),
    )
    return replace(
        cluster.snapshot([cluster.node("n1")], pods, readings=[reading]),
        resource_slices=slices,
        resource_claims=claims,
    )


def parts_of(before: Snapshot) -> list[float]:
    """What each pod is taken to use of the device."""
    (request,) = policy().requests()
    gpus = read_shared_gpus(before, request, np.array([True]))
    assert isinstance(gpus, SharedGpus)
    return [round(part, 6) for part in gpus.part.tolist()]


def test_claims_on_one_device_share_it() -> None:
    """Who has a device by claims is known from the claims, whatever its series tell."""
    before = claimed({}, {}, {})
    (hot,) = term(before).findings()
    assert (hot.code, hot.pods) == ("UTL003", (0, 1))
    assert "in equal parts" in hot.message
    assert parts_of(before) == [0.45, 0.45]


def test_load_goes_by_what_claims_consume_of_a_device() -> None:
    """Of several capacities the one of which a claim has most: the others are what is left."""
    memory = claimed({"memory": "80Gi"}, {"memory": "20Gi"}, {"memory": "40Gi"})
    assert parts_of(memory) == [0.3, 0.6]
    (hot,) = term(memory).findings()
    assert hot.pods == (0, 1)
    assert "in proportion to their claims, as no metric tells them apart" in hot.message
    sizes = {"memory": "80Gi", "cores": "100"}
    mixed = claimed(sizes, {"memory": "8Gi", "cores": "60"}, {"memory": "24Gi", "cores": "0"})
    assert parts_of(mixed) == [0.6, 0.3]


def test_a_claim_that_tells_no_part_makes_all_equal() -> None:
    for other in ({}, {"memory": "0"}, {"another": "5"}):
        assert parts_of(claimed({"memory": "80Gi"}, {"memory": "20Gi"}, other)) == [0.45, 0.45]


def test_a_device_that_one_claim_consumes_whole_is_not_shared() -> None:
    whole = claimed({"memory": "80Gi", "cores": "100"}, {"memory": "80Gi", "cores": "10"})
    assert list(term(whole).findings()) == []
    part = claimed({"memory": "80Gi"}, {"memory": "79Gi"})
    assert [finding.code for finding in term(part).findings()] == ["UTL003"]

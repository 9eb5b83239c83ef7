"""Who has devices by dynamic allocation, and which of them are free when a pod goes."""

from typing import Any

import msgspec
import pytest

from rescheduler.kube.dra.claimed_accelerators import ClaimedAccelerators
from rescheduler.kube.dra.class_resources import extended_names, served_by_class
from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.devices import DeviceClass, ResourceClaim, ResourceSlice
from rescheduler.kube.objects import PodSpec
from rescheduler.policies.health.device_faults import Attribution
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugins.dynamic_resources import ClaimedDevices
from tests.cases import every
from tests.cluster import controller, node, pod, snapshot

DRIVER = "gpu.example.com"
CLAIMS: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}
SLICE = msgspec.convert(
    {
        "spec": {
            "driver": DRIVER,
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "g0"}, {"name": "g1"}],
        }
    },
    ResourceSlice,
)


def claim(device: str, owner: str = "", reserved: tuple[str, ...] = (), **more: Any) -> Any:
    result = {"driver": DRIVER, "pool": "a", "device": device, **more}
    owners = [{"kind": "Pod", "name": owner, "uid": f"pod-default-{owner}"}] if owner else []
    users = [
        {"resource": "pods", "name": pod_name, "uid": f"pod-default-{pod_name}"}
        for pod_name in reserved
    ]
    return msgspec.convert(
        {
            "metadata": {"name": device, "namespace": "default", "ownerReferences": owners},
            "status": {
                "allocation": {"devices": {"results": [result]}},
                "reservedFor": users,
            },
        },
        ResourceClaim,
    )


@every(
    [
        ("gpu.nvidia.com", "gpu", 1),
        ("gpu.nvidia.com", "mig", 0),
        ("gpu.amd.com", "amdgpu", 1),
        ("gpu.amd.com", "amdgpu-partition", 0),
        ("gpu.intel.com", "", 1),
    ]
)
def test_whole_accelerators_are_told_from_partitions_of_any_maker(
    driver: str, kind: str, whole: int
) -> None:
    attributes = {"type": {"string": kind}} if kind else {}
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": "a", "pool": pool}
    devices = [{"name": "g0", "attributes": attributes}]
    offered = msgspec.convert({"spec": spec | {"devices": devices}}, ResourceSlice)
    found = ClaimedAccelerators([offered], [], {"a": 0}, {})
    assert (found.count.tolist(), found.partitions.tolist()) == ([whole], [1 - whole])


def holdings(*claims: ResourceClaim) -> DeviceHoldings:
    pods = {f"pod-default-{name}": number for number, name in enumerate("pq")}
    return DeviceHoldings(claims, pods, DeviceInventory([SLICE], {"a": 0}))


@every(
    [
        (claim("g0", "p", ("p",)), {0: [0]}, {0: [0]}),
        (claim("g0", "p"), {0: [0]}, {0: [0]}),
        (claim("g0", reserved=("p",)), {0: [0]}, {0: [0]}),
        (claim("g0", reserved=("p", "q")), {0: [0], 1: [0]}, {}),
        (claim("g0", "p", ("p", "q")), {0: [0], 1: [0]}, {}),
        (claim("g0", "p", ("p", "ended")), {0: [0]}, {}),
        (claim("g0", "ended", ("p",)), {0: [0]}, {0: [0]}),
        (claim("g0", "p", ("q",)), {0: [0], 1: [0]}, {1: [0]}),
        (claim("g0", "ended"), {}, {}),
        (claim("g0"), {}, {}),
    ]
)
def test_a_claim_keeps_its_devices_until_its_last_user_goes(
    given: ResourceClaim, used: Any, freed: Any
) -> None:
    found = holdings(given)
    assert found.claims.tolist() == [1, 0]
    assert found.of_pod == used
    assert found.freed == freed


def test_access_for_administrators_takes_no_device() -> None:
    found = holdings(claim("g0", "p", adminAccess=True))
    assert found.claims.tolist() == [0, 0]
    assert found.of_pod == {0: []}


def test_a_device_that_no_slice_offers_is_lost() -> None:
    assert holdings(claim("gone", "p"), claim("g1", "q")).lost == {0}


@pytest.mark.parametrize(("reserved", "free"), [(("p",), True), (("p", "q"), False)])
def test_the_scheduler_frees_what_goes_with_a_pod(reserved: Any, free: bool) -> None:
    pods = [pod("p", "a", **CLAIMS), pod("q", "a", **CLAIMS)]
    before = snapshot(
        [node("a")], pods, resource_slices=[SLICE], resource_claims=[claim("g0", "p", reserved)]
    )
    occupancy = Occupancy(before.nodes, before.pods, before.pod_node, pod_level=True)
    use = ClaimedDevices(before, occupancy)
    with occupancy.remove_pod(0):
        assert use.free().tolist() == [free, True]
    assert use.free().tolist() == [False, True]


def asking(**requests: str) -> PodSpec:
    container = {"name": "c", "resources": {"requests": requests}}
    return msgspec.convert({"containers": [{"name": "b"}], "initContainers": [container]}, PodSpec)


def test_a_class_serves_what_it_names_and_what_is_called_after_it() -> None:
    named = extended_names(
        msgspec.convert(
            [{"spec": {"extendedResourceName": "example.com/gpu"}}, {"spec": {}}],
            list[DeviceClass],
        )
    )
    assert named == {"example.com/gpu"}
    implicit = "deviceclass.resource.kubernetes.io/big"
    assert served_by_class(asking(**{"example.com/gpu": "1"}), named) == "example.com/gpu"
    assert served_by_class(asking(**{implicit: "1"}), named) == implicit
    assert served_by_class(asking(**{"example.com/gpu": "0", "cpu": "1"}), named) == ""
    assert served_by_class(asking(**{"example.com/other": "1"}), named) == ""


def test_the_model_knows_the_resource_that_a_class_is_named_after() -> None:
    implicit = "deviceclass.resource.kubernetes.io/big"
    by = controller("ReplicaSet", "o")
    made = pod("p", "a", owner=by, requests={implicit: "1"})
    refusal = SchedulerModel(snapshot([node("a"), node("b")], [made])).landing(0).refusal
    assert refusal is not None
    assert f"{implicit} may be served by a device class" in refusal.message


def test_the_gpu_of_a_sidecar_is_one_that_the_pod_has() -> None:
    made = pod("p", "a")
    sidecar = {
        "name": "s",
        "restartPolicy": "Always",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    made.spec = msgspec.convert({"initContainers": [sidecar]}, PodSpec)
    assert Attribution(snapshot([node("a")], [made])).gpus.tolist() == [1.0]

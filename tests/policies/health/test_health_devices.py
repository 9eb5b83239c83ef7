"""Health of single devices: only who has the broken one suffers."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.kube.dra.devices import ResourceClaim, ResourceSlice
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.health.policy import Health
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policytest.series_readings import with_devices
from tests.cluster import node, pod, snapshot
from tests.picture import measured, picture, proposed, workloads

FOUR = """
    zone a | n1 gpu 8 | train train serve web
    zone a | n2 gpu 8 | train serve
    zone a | n3 gpu 8 | -
    zone a | n4 gpu 8 | -
"""
GPU = {"train": {"nvidia.com/gpu": "1"}, "serve": {"nvidia.com/gpu": "1"}}
VALUES: dict[str, list[Any]] = {
    "GPU-a": [0, "train-0"],
    "GPU-b": [79, "serve-0"],
    "GPU-c": [0, "train-1"],
    "GPU-d": [0],
}


def health(action: str = "Drain", **spec: Any) -> Health:
    given: dict[str, Any] = {"nodes": {"all": True}, "match": {"all": True}, "signs": {"xid": True}}
    return Health(name="h", **{**given, "action": action, **spec})


def four(policy: Health, devices: Mapping[str, list[Any]], requests: Any = None) -> Snapshot:
    xid = {"n1": 0, "n2": 0, "n3": 0, "n4": 0}
    before = picture(
        FOUR,
        requests=GPU if requests is None else requests,
        readings={"node.gpu.xid": xid},
        policies=[policy],
    )
    return with_devices(before, {"node.gpu.xid": {"n1": dict(devices)}})


def bound(before: Snapshot, policy: Health) -> HealthTerm:
    made = policy.compile(before)
    assert isinstance(made, HealthTerm), made
    return made


def test_only_the_pod_that_has_the_broken_gpu_leaves() -> None:
    policy = health()
    before = four(policy, VALUES)
    term = bound(before, policy)
    assert term.cost() == 1
    assert workloads(before, term.candidates()) == ["serve"]
    [finding] = term.findings()
    assert (finding.code, finding.subject) == ("HLT002", "GPU 1 (GPU-b) of node n1")
    assert finding.message == "a GPU reported XID 79 within the window; 1 pod has it"
    [made] = proposed(before, policy)
    assert made.workload == "serve"
    assert made.destination != "n1"


def test_what_lands_beside_a_broken_gpu_may_get_it() -> None:
    policy = health()
    term = bound(four(policy, VALUES), policy)
    [serve, train_on_n2, web] = [2, 4, 3]
    nodes = np.arange(4, dtype=np.int32)
    assert term.deltas(serve, nodes).tolist() == [0, -1, -1, -1]
    assert term.deltas(train_on_n2, nodes).tolist() == [1, 0, 0, 0]
    assert term.deltas(web, nodes).tolist() == [0, 0, 0, 0]
    # A healthy pod of the node that went and came back is as it was.
    term.commit(Shift(0, 0, 2))
    assert term.deltas(0, nodes).tolist() == [0, 0, 0, 0]
    term.commit(Shift(train_on_n2, 1, 0))
    assert term.cost() == 2
    codes = {finding.code: finding.subject for finding in term.findings()}
    assert codes == {"HLT001": "node n1", "HLT002": "GPU 1 (GPU-b) of node n1"}


def test_partitions_of_one_gpu_share_its_fate() -> None:
    policy = health()
    requests = {
        "train": {"nvidia.com/mig-1g.10gb": "1"},
        "serve": {"nvidia.com/mig-1g.10gb": "1"},
    }
    parts: dict[str, Any] = {
        "GPU-a/1/1g.10gb": [79, "train-0"],
        "GPU-a/2/1g.10gb": [0, "serve-0"],
        "GPU-b/1/1g.10gb": [0, "train-1"],
    }
    room = picture(FOUR.replace("gpu 8", "nvidia.com/mig-1g.10gb 8"), requests=requests)
    before = measured(room, {"node.gpu.xid": {f"n{n}": 0 for n in range(1, 5)}}, [policy])
    before = with_devices(before, {"node.gpu.xid": {"n1": parts}})
    term = bound(before, policy)
    assert [before.pods[candidate].metadata.name for candidate in term.candidates()] == [
        "train-0",
        "serve-0",
    ]


@pytest.mark.parametrize(("unattributed", "moved"), [("Report", []), ("Drain", ["serve", "train"])])
def test_pods_whose_device_is_not_known_are_treated_as_the_policy_has_it(
    unattributed: str, moved: list[str]
) -> None:
    policy = health(unattributed=unattributed)
    unknown = {**VALUES, "GPU-b": [79], "GPU-c": [0]}
    before = four(policy, unknown)
    term = bound(before, policy)
    assert term.cost() == 2
    assert workloads(before, term.candidates()) == moved
    [finding] = term.findings()
    assert finding.code == "HLT003"
    assert "which pod has it is not reported: 2 pods may have it" in finding.message
    assert ("(unattributed: Report)" in finding.message) == (not moved)
    assert {move.workload for move in proposed(before, policy)} <= set(moved)


def test_a_broken_gpu_that_nobody_has_is_reported_and_moves_nobody() -> None:
    policy = health()
    before = four(policy, {**VALUES, "GPU-b": [0, "serve-0"], "GPU-d": [48]})
    term = bound(before, policy)
    assert term.cost() == 0
    assert list(term.findings()) == []
    [warning] = term.warnings()
    assert warning.code == "HLT002"
    assert warning.message.startswith("GPU 3 (GPU-d) of node n1: a GPU reported XID 48")
    assert warning.message.endswith("no pod has it")
    assert proposed(before, policy) == []


def test_a_pod_of_another_node_has_no_device_here_by_an_older_series() -> None:
    """A StatefulSet's pod keeps its name where it goes; for minutes its old series is fresh."""
    policy = health(unattributed="Drain")
    before = four(policy, {**VALUES, "GPU-b": [79, "train-2"]})
    assert before.pod_node[4] == 1
    term = bound(before, policy)
    assert 4 not in term.candidates().tolist()
    [finding] = term.findings()
    assert (finding.code, workloads(before, finding.pods)) == ("HLT003", ["serve"])


def test_by_default_a_device_is_reported_and_nothing_more() -> None:
    policy = health("Report")
    before = four(policy, VALUES)
    term = bound(before, policy)
    assert term.cost() == 1
    assert term.candidates().tolist() == []
    assert next(iter(term.findings())).message.endswith("and are left there (action: Report)")
    assert proposed(before, policy) == []


def offered(on: str, driver: str, **devices: str) -> ResourceSlice:
    attribute = {"gpu.nvidia.com": "uuid", "dra.net": "ifName"}[driver]
    listed = [
        {"name": name, "attributes": {attribute: {"string": value}}}
        for name, value in devices.items()
    ]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": on, "pool": pool, "devices": listed}
    return msgspec.convert({"spec": spec}, ResourceSlice)


def claimed(by: str, on: str, driver: str, device: str) -> ResourceClaim:
    result = {"driver": driver, "pool": on, "device": device}
    user = {"resource": "pods", "name": by, "uid": f"pod-default-{by}"}
    allocation = {"devices": {"results": [result]}}
    return msgspec.convert(
        {
            "metadata": {"name": f"{by}-claim", "namespace": "default"},
            "status": {"allocation": allocation, "reservedFor": [user]},
        },
        ResourceClaim,
    )


def claiming(policy: Health, driver: str, devices: dict[str, str], reading: str) -> Snapshot:
    """Pods p0 and p1 of n1 that have d0 and d1 by a claim each, and p2 that has none."""
    names = [("p0", "d0"), ("p1", "d1")]
    claims = [{"name": "d", "resourceClaimTemplateName": "t"}]
    pods = [pod(name, "n1", resourceClaims=claims) for name, _ in names]
    made = snapshot(
        [node("n1"), node("n2")],
        [*pods, pod("p2", "n1")],
        resource_slices=[offered("n1", driver, **devices)],
        resource_claims=[claimed(name, "n1", driver, device) for name, device in names],
    )
    return measured(made, {reading: {"n1": 0, "n2": 0}}, [policy])


def test_an_allocated_claim_shows_who_has_a_gpu() -> None:
    policy = health()
    before = claiming(policy, "gpu.nvidia.com", {"d0": "GPU-a", "d1": "GPU-b"}, "node.gpu.xid")
    values: dict[str, Any] = {"node.gpu.xid": {"n1": {"GPU-a": [0], "GPU-b": [79]}}}
    term = bound(with_devices(before, values), policy)
    assert [before.pods[candidate].metadata.name for candidate in term.candidates()] == ["p1"]


@pytest.mark.parametrize("name", ["GPU-b", ""])
def test_a_claim_of_which_too_little_is_known_may_be_for_the_broken_gpu(name: str) -> None:
    policy = health()
    before = claiming(policy, "gpu.nvidia.com", {"d0": "GPU-a", "d1": name}, "node.gpu.xid")
    if name:
        before.resource_claims.pop()
    else:
        [_, nameless] = before.resource_slices[0].spec.devices or []
        nameless.attributes = None
    values: dict[str, Any] = {"node.gpu.xid": {"n1": {"GPU-a": [0], "GPU-b": [79]}}}
    term = bound(with_devices(before, values), policy)
    assert term.cost() == 1
    assert term.candidates().tolist() == []
    assert [finding.code for finding in term.findings()] == ["HLT003"]


def test_a_pod_that_would_come_back_to_the_broken_gpu_stays() -> None:
    policy = health()
    before = four(policy, VALUES)
    for node_object in before.nodes[1:]:
        node_object.spec.unschedulable = True
    assert proposed(before, policy) == []


def test_an_interface_belongs_to_its_claim_or_else_to_all() -> None:
    policy = health(signs={"drops": "2%"})
    before = claiming(policy, "dra.net", {"d0": "eth1", "d1": "eth2"}, "node.network.drops")
    for name, names in (("eth2", ["p1"]), ("eth0", ["p0", "p1", "p2"])):
        values: dict[str, Any] = {"node.network.drops": {"n1": {name: [0.03], "eth1": [0.0]}}}
        term = bound(with_devices(before, values), policy)
        assert [before.pods[candidate].metadata.name for candidate in term.candidates()] == names

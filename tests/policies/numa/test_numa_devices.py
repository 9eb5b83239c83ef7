"""Numa with devices of resource claims, in policy tests."""

import msgspec
import numpy as np
import pytest

from rescheduler.kube.dra.devices import (
    DeviceAttribute,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.numa.term import NumaTerm
from rescheduler.policytest.topologies import topology
from tests.cluster import pod
from tests.policies.device_drawing import (
    GPU,
    NIC,
    NUMA,
    classes,
    held,
    offered,
    on_zones,
    template,
    user,
)
from tests.policies.numa.devices import both, cluster, numa, split
from tests.policies.numa_drawing import guaranteed


def bound(before: Snapshot, policy: Numa | None = None) -> NumaTerm:
    made = (policy or numa()).compile(before)
    assert isinstance(made, NumaTerm), made
    return made


def deltas(before: Snapshot, pod: int = 0, policy: Numa | None = None) -> list[float]:
    nodes = np.arange(len(before.nodes), dtype=np.int32)
    return [float(delta) for delta in bound(before, policy).deltas(pod, nodes)]


def test_a_gpu_and_a_nic_apart_move_to_where_the_first_free_are_together() -> None:
    before = split(*both("n2"))
    term = bound(before)
    assert term.cost() == 1
    assert term.candidates().tolist() == [0]
    [finding] = term.findings()
    assert finding.code == "NUM001"
    assert "devices lie on NUMA nodes 0, 1 (by ResourceSlices)" in finding.message
    assert "1 of 2 could hold them" in finding.message
    assert deltas(before) == [0, -1]
    made = plan(before, policy_set([numa()], Limits()), History(), mode="Enforce")
    assert [(m.pod.name, m.source, m.landing[0].node) for m in made.moves] == [("p0", "n1", "n2")]


@pytest.mark.parametrize("number", [2**40, -1, "9" * 64, "Ⅳ", "-1", ""])
def test_a_number_that_is_no_numa_node_is_not_used(number: int | str) -> None:
    before = split(*both("n2"))
    kind = "int" if isinstance(number, int) else "string"
    odd = msgspec.convert({kind: number}, DeviceAttribute)
    for device in before.resource_slices[0].spec.devices or []:
        device.attributes = {NUMA: odd}
    assert bound(before).cost() == 0


def test_devices_of_another_node_than_the_pods_show_nothing() -> None:
    """Claims and pods are read one after the other: the pod may have been placed again between."""
    pods = [user("p0", "n2"), user("p1", "n3")]
    claims = [held("p0", "n1", "gpu-0", "nic-2"), held("p1", "n1", "gpu-0", "nic-2")]
    one_zone = both("n2", gpus=(0, 0), nics=(0, 0))
    before = cluster([*both("n1"), *one_zone], pods, claims, beside=("n3",))
    term = bound(before)
    assert term.cost() == 0
    assert term.candidates().tolist() == []
    assert "NUMA node of some devices of 2 of 2 pods" in " ".join(
        warning.message for warning in term.warnings()
    )


def test_what_the_allocator_takes_first_decides_and_not_what_it_could_take() -> None:
    # The first NIC of n2 lies on node 1: an aligned pair is free there, and is not what it gets.
    assert deltas(split(*both("n2", nics=(1, 0, 0, 1)))) == [0, 0]
    taken = (user("q", "n2"), held("q", "n2", "nic-0"))
    assert deltas(split(*both("n2", nics=(1, 0, 0, 1)), more=(taken,))) == [0, -1]


def test_where_the_order_is_not_known_every_choice_must_be_aligned() -> None:
    zones = on_zones("nic", 0, 1)
    slices = [offered("n2", NIC, zones[0], part=1), offered("n2", NIC, zones[1], part=2)]
    gpus = offered("n2", GPU, *on_zones("gpu", 0, 0))
    assert deltas(split(gpus, *slices)) == [0, 0]
    # With the NIC of node 1 taken no choice is left that lies apart.
    taken = (user("q", "n2"), held("q", "n2", "nic-1"))
    assert deltas(split(gpus, *slices, more=(taken,))) == [0, -1]


def test_somebody_who_waits_may_take_the_first() -> None:
    assert deltas(split(*both("n2"), more=((user("w"), None),))) == [0, 0]


@pytest.mark.parametrize(("common", "gain"), [(NUMA, -1), ("nic.test/speed", 0)])
def test_a_constraint_makes_it_certain(common: str, gain: float) -> None:
    before = split(*both("n2", nics=(1, 0, 0, 1)))
    before.claim_templates[:] = [template("pair", common=common, gpu=1, nic=1)]
    assert deltas(before) == [0, gain]


def test_two_gpus_are_charged_by_what_an_empty_node_would_need() -> None:
    three = template("pair", gpu=3)
    claims = [held("p0", "n1", "gpu-0", "gpu-1", "gpu-2")]
    before = cluster(both("n1"), [user("p0", "n1")], claims, (three,))
    assert bound(before).cost() == 0  # three of two and two: nobody could do better
    before = cluster(both("n1", gpus=(0, 0, 0, 1)), [user("p0", "n1")], claims, (three,))
    assert bound(before).cost() == 0
    claims = [held("p0", "n1", "gpu-1", "gpu-2", "gpu-3")]
    before = cluster(both("n1", gpus=(0, 0, 0, 1)), [user("p0", "n1")], claims, (three,))
    assert bound(before).cost() == 1


def test_devices_of_one_pcie_root_lie_on_one_numa_node() -> None:
    root = "resource.kubernetes.io/pcieRoot"
    gpus = [{"name": f"gpu-{n}", root: {"string": f"pci0000:{n}"}} for n in range(2)]
    nics = [
        {"name": f"nic-{n}", root: {"string": f"pci0000:{n}"}, "dra.net/numaNode": {"int": n}}
        for n in range(2)
    ]
    slices = [offered("n1", GPU, *gpus), offered("n1", NIC, *nics)]
    apart = cluster(slices, [user("p0", "n1")], [held("p0", "n1", "gpu-0", "nic-1")])
    assert bound(apart).cost() == 1
    near = cluster(slices, [user("p0", "n1")], [held("p0", "n1", "gpu-1", "nic-1")])
    assert bound(near).cost() == 0


def test_of_a_list_the_first_is_the_physical_node() -> None:
    gpus = [{"name": "gpu-0", NUMA: {"ints": [5, 4, 6]}}]
    nics = [{"name": "nic-0", NUMA: {"ints": [4, 5, 6]}}, {"name": "nic-1", NUMA: {"int": 5}}]
    slices = [offered("n1", GPU, *gpus), offered("n1", NIC, *nics)]
    before = cluster(slices, [user("p0", "n1")], [held("p0", "n1", "gpu-0", "nic-0")])
    assert bound(before).cost() == 1


def test_what_is_not_known_gains_nothing_and_is_named() -> None:
    # A NIC of n2 has no NUMA node: what p0 would get there cannot be evaluated.
    assert deltas(split(*both("n2", nics=(0, None, 0, 0)))) == [0, 0]
    slices = both("n1", nics=(None, 1, 1, 1))
    before = cluster(slices, [user("p0", "n1")], [held("p0", "n1", "gpu-0", "nic-0")])
    assert bound(before).cost() == 0
    assert any(
        "of some devices of 1 of 1 pod" in warning.message for warning in bound(before).warnings()
    )


def test_devices_that_lie_nowhere_do_not_count() -> None:
    slices = both("n1", nics=(None, None))
    before = cluster(slices, [user("p0", "n1")], [held("p0", "n1", "gpu-0", "nic-0")])
    assert bound(before).scope() == 0


def test_what_is_not_modeled_is_found_and_left() -> None:
    before = split(*both("n2"))
    before.claim_templates.clear()
    term = bound(before)
    assert term.cost() == 1
    assert "lie on NUMA nodes 0, 1" in next(iter(term.findings())).message
    assert deltas(before) == [0, 0]
    [warning] = [
        problem for problem in term.warnings() if "could lie is not known" in problem.message
    ]
    assert "default/p0: its resource claim pair has no template" in warning.message
    made = plan(before, policy_set([numa()], Limits()), History(), mode="Enforce")
    assert [*made.moves] == []
    three = cluster(
        both("n1"), [user("p0", "n1")], [held("p0", "n1", "gpu-0", "gpu-1", "gpu-2")], ()
    )
    assert bound(three).cost() == 0  # no zone has three


def test_devices_of_extended_resources_are_named_and_take_part() -> None:
    served = classes()
    served[0].spec.extendedResourceName = "nvidia.com/gpu"
    asking = {"nvidia.com/gpu": "2"}
    pods = [user("p0", "n1"), pod("e0", "n1", requests=asking)]
    claims = [held("p0", "n1", "gpu-0", "nic-2"), held("e0", "n1", "gpu-1", "gpu-2")]
    before = cluster([*both("n1"), *both("n2")], pods, claims)
    before.device_classes[:] = served
    term = bound(before)
    assert any(
        "a claim serves its extended resources" in warning.message for warning in term.warnings()
    )
    n2 = np.array([1], np.int32)
    assert term.deltas(0, n2) == [-1]
    term.commit(Shift(1, 0, 1))
    assert term.deltas(0, n2) == [0]


def test_attributes_are_the_operators_to_name() -> None:
    own = "rack.example.com/socket"
    slices = [
        offered("n1", GPU, *on_zones("gpu", 0, 1, attribute=own)),
        offered("n1", NIC, *on_zones("nic", 0, 1, attribute=own)),
    ]
    before = cluster(slices, [user("p0", "n1")], [held("p0", "n1", "gpu-0", "nic-1")])
    assert bound(before, numa(attributes=[own])).cost() == 1
    problem = numa().compile(before)
    assert isinstance(problem, Problem)
    assert problem.code == "NUM004"
    with pytest.raises(ValueError, match="attributes"):
        numa(attributes=["numaNode"])


def test_a_second_guest_makes_the_choice_uncertain() -> None:
    second = (user("p1", "n1"), held("p1", "n1", "gpu-2", "nic-0"))
    before = split(*both("n2"), more=(second,))
    term = bound(before)
    assert term.cost() == 2
    assert term.deltas(2, np.array([1], np.int32)) == [-1]
    term.commit(Shift(0, 0, 1))
    # Both could get devices apart now: the second gains nothing, the first no more.
    assert term.deltas(2, np.array([1], np.int32)) == [1]
    assert term.cost() == 1


def test_a_pod_without_claims_leaves_no_devices_to_who_came() -> None:
    bystander = (pod("web", "n2"), None)
    before = split(*both("n2"), more=(bystander,))
    term = bound(before)
    nodes = np.array([0, 1], np.int32)
    term.commit(Shift(0, 0, 1))
    assert term.cost() == 0
    assert term.deltas(2, nodes).tolist() == [0, 0]
    term.commit(Shift(2, 1, 0))
    assert term.cost() == 0
    assert term.deltas(2, nodes).tolist() == [0, 0]


def test_cpus_beside_other_devices_are_named() -> None:
    apart, near = (
        guaranteed(name, "n1", {"cpu": "1"}, lies=[(zone, {"cpu": "1"})])
        for name, zone in (("p0", "node-1"), ("p1", "node-0"))
    )
    for pod_object in (apart, near):
        pod_object.spec.resourceClaims = user("x").spec.resourceClaims
    claims = [held("p0", "n1", "gpu-0", "nic-0"), held("p1", "n1", "gpu-1", "nic-1")]
    zones = topology("n1", {"cpu": (16.0, 14.0)}, {"cpu": (16.0, 14.0)}, policy="best-effort")
    term = bound(cluster(both("n1"), [apart, near], claims, topologies=[zones]))
    assert term.cost() == 0
    [warning] = [problem for problem in term.warnings() if "gave to" in problem.message]
    assert warning.message.endswith("so they stay: default/p0")


def test_nodes_with_devices_need_no_topology_object() -> None:
    before = cluster([*both("n1"), *both("n2")], [], [], beside=["n3"])
    term = bound(before)
    assert term.unknown_nodes().tolist() == [False, False, True]
    assert any("n3" in warning.message for warning in term.warnings())

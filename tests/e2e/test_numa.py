"""A pod whose devices lie in two NUMA zones moves to where one holds them, and only there."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.kubelets import Kubelets
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.loop import USER, Loop, only_evictions_and_own_state, plan, swift, write_policies
from tests.e2e.numa import NUMA
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

_DEVICES = "resource.k8s.io/v1"


def test_a_split_pod_is_made_whole_where_kubelet_admits_it(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    policies = write_policies(tmp_path / "policies", NUMA, swift())
    none, _ = plan(actor, policies)
    assert "NUM004" in none.stdout  # no NodeResourceTopology yet: the policy is not evaluated

    cluster.create(*nodes(4, cpu=64, memory="256Gi", gpus=8))
    kinds = {"n1": "best-effort", "n2": "single-numa-node", "n3": "single-numa-node"}
    with Kubelets(cluster, {**kinds, "n4": "restricted"}) as kubelets:
        # n1 and n2 have one GPU left in each zone: room for two by kube-scheduler's count alone.
        big = deployment("big", 4, gpus=3, cpu=1, memory="1Gi")
        cluster.arrange([(big, ["n1", "n1", "n2", "n2"])])
        train = deployment("train", 2, gpus=2, cpu=1, memory="1Gi")
        cluster.arrange([(train, ["n1", "n4"])])
        cluster.create(budget("train", max_unavailable=1))
        cluster.until(lambda: len(kubelets.lies) == 6, "the kubelets' admission")
        [split] = kubelets.split()

        for name in ("n3", "n4"):
            _cordon(cluster, name, True)
        _, trapped = plan(actor, policies)
        assert trapped["moves"] == []
        assert {r["code"] for r in trapped["refused"]} == {"FEA007"}
        assert "would refuse it" in trapped["refused"][0]["message"]
        for name in ("n3", "n4"):
            _cordon(cluster, name, False)

        mark = cluster.control_plane.audit.mark()
        loop = Loop(actor, policies)
        [move] = loop.until_content()
        cluster.settled()

        assert move["pod"]["uid"] == split
        assert move["landedOn"] in {"n3", "n4"}
        [reported] = [policy for policy in loop.reports[0]["policies"] if policy["name"] == "zones"]
        assert reported["cost"]["before"] == 1
        assert reported["cost"]["after"] == 0
        assert reported["findings"][0]["code"] == "NUM001"
        [after] = [policy for policy in loop.reports[-1]["policies"] if policy["name"] == "zones"]
        assert after["cost"]["before"] == 0
        assert kubelets.split() == []
        assert kubelets.refused == []
        assert cluster.placement("big") == {"n1": 2, "n2": 2}
        records = cluster.control_plane.audit.since(mark)
        assert len(records.evictions(by=USER)) == 1
        only_evictions_and_own_state(records)


def test_devices_apart_meet_where_the_allocator_takes_one_numa_node(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    policies = write_policies(tmp_path / "policies", NUMA, swift())
    cluster.create(*nodes(3, cpu=64, memory="256Gi"))
    # The first NIC of n1 and n3 lies beside their second GPU: the allocator considers no NUMA node.
    orders = {"n1": (1, 0), "n2": (0, 1), "n3": (1, 0)}
    cluster.create(
        *(_class(kind) for kind in ("gpu", "nic")),
        *(_slice(name, "gpu", (0, 1)) for name in orders),
        *(_slice(name, "nic", order) for name, order in orders.items()),
        _template(gpu=1, nic=1),
    )
    for name in ("n2", "n3"):
        _cordon(cluster, name, True)
    claims = [{"name": "fast", "resourceClaimTemplateName": "pair"}]
    cluster.create(deployment("train", 2, cpu=1, memory="1Gi", resourceClaims=claims))
    cluster.create(budget("train", max_unavailable=1))
    cluster.settled()
    assert _zones(cluster, orders) == [{0, 1}, {0, 1}]

    # Pairs on one NUMA node are free on n3, and are not what the allocator would take.
    _cordon(cluster, "n3", False)
    _, trapped = plan(actor, policies)
    [reported] = [policy for policy in trapped["policies"] if policy["name"] == "zones"]
    assert reported["problem"] is None, reported
    assert reported["cost"]["before"] == 2
    assert trapped["moves"] == []
    _cordon(cluster, "n3", True)
    _cordon(cluster, "n2", False)

    mark = cluster.control_plane.audit.mark()
    loop = Loop(actor, policies)
    moves = loop.until_content()
    cluster.settled()

    assert [move["landedOn"] for move in moves] == ["n2"]
    assert sorted(_zones(cluster, orders), key=len) == [{0}, {0, 1}]
    # The other one would come back to n1, where devices are free now, and is left there.
    [after] = [policy for policy in loop.reports[-1]["policies"] if policy["name"] == "zones"]
    assert after["cost"]["before"] == 1
    [left] = loop.reports[-1]["refused"]
    assert left["node"] == "n1"
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 1
    only_evictions_and_own_state(records)


def _class(kind: str) -> dict[str, Any]:
    expression = f'device.driver == "{kind}.test"'
    return {
        "apiVersion": _DEVICES,
        "kind": "DeviceClass",
        "metadata": {"name": kind},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _slice(node: str, kind: str, zones: tuple[int, int]) -> dict[str, Any]:
    attribute = "resource.kubernetes.io/numaNode"
    return {
        "apiVersion": _DEVICES,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{kind}s"},
        "spec": {
            "driver": f"{kind}.test",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"{kind}-{n}", "attributes": {attribute: {"int": zone}}}
                for n, zone in enumerate(zones)
            ],
        },
    }


def _template(**counts: int) -> dict[str, Any]:
    requests = [
        {"name": kind, "exactly": {"deviceClassName": kind, "count": count}}
        for kind, count in counts.items()
    ]
    return {
        "apiVersion": _DEVICES,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "pair", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def _zones(cluster: Cluster, orders: dict[str, tuple[int, int]]) -> list[set[int]]:
    """On which NUMA nodes the devices of each claim lie that a pod uses."""
    answer = []
    for claim in cluster.api.items(_DEVICES, "ResourceClaim"):
        allocation = claim.get("status", {}).get("allocation")
        if allocation is None or "deletionTimestamp" in claim["metadata"]:
            continue
        zones = set()
        for result in allocation["devices"]["results"]:
            number = int(result["device"].partition("-")[2])
            order = (0, 1) if result["driver"] == "gpu.test" else orders[result["pool"]]
            zones.add(order[number])
        answer.append(zones)
    return answer


def _cordon(cluster: Cluster, name: str, on: bool) -> None:
    node = cluster.api.read("v1", "Node", name)
    manifest = {"apiVersion": "v1", "kind": "Node", **node}
    cluster.api.patch(manifest, {"spec": {"unschedulable": on or None}})

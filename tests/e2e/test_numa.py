"""A pod whose GPUs lie in two NUMA zones moves to where one zone holds them, and only there."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.kubelets import Kubelets
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.loop import USER, Loop, only_evictions_and_own_state, plan, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

NUMA = """
apiVersion: rescheduler.io/v1alpha1
kind: Numa
metadata: {name: zones}
spec:
  nodes: {all: true}
  match: {namespaces: [default]}
"""


def test_a_split_pod_is_made_whole_and_none_is_sent_where_kubelet_refuses_it(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    policies = write_policies(tmp_path / "policies", NUMA, swift())
    none, _ = plan(actor, policies)
    assert "NUM004" in none.stdout  # no NodeResourceTopology yet: the policy has no say

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
        [told] = [each for each in loop.reports[0]["policies"] if each["name"] == "zones"]
        assert told["cost"]["before"] == 1
        assert told["cost"]["after"] == 0
        assert told["findings"][0]["code"] == "NUM001"
        [after] = [each for each in loop.reports[-1]["policies"] if each["name"] == "zones"]
        assert after["cost"]["before"] == 0
        assert kubelets.split() == []
        assert kubelets.refused == []
        assert cluster.placement("big") == {"n1": 2, "n2": 2}
        records = cluster.control_plane.audit.since(mark)
        assert len(records.evictions(by=USER)) == 1
        only_evictions_and_own_state(records)


def _cordon(cluster: Cluster, name: str, on: bool) -> None:
    node = cluster.api.read("v1", "Node", name)
    manifest = {"apiVersion": "v1", "kind": "Node", **node}
    cluster.api.patch(manifest, {"spec": {"unschedulable": on or None}})

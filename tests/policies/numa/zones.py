"""Nodes of two NUMA zones, and pods that are bound to them."""

from typing import Any

from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.numa.term import NumaTerm
from rescheduler.policytest.topologies import topology
from tests.cluster import deployment, node, snapshot
from tests.policies.numa_drawing import GPU

SPLIT = [("node-0", {GPU: "1"}), ("node-1", {GPU: "1"})]


def numa(**spec: Any) -> Numa:
    return Numa(name="zones", **{"nodes": {"all": True}, "match": {"all": True}, **spec})


def cluster(*topologies: NodeResourceTopology, pods: list[Pod], **more: Any) -> Snapshot:
    """Nodes of 8 GPUs for every topology, and n9 without one."""
    room = {GPU: "8", "cpu": "32", "memory": "128Gi"}
    names = [*(topology.metadata.name for topology in topologies), *more.pop("beside", [])]
    return snapshot(
        [node(name, allocatable=room) for name in names],
        pods,
        controllers=deployment("train"),
        topologies=list(topologies),
        **more,
    )


def bound(before: Snapshot, policy: Numa | None = None) -> NumaTerm:
    made = (policy or numa()).compile(before)
    assert isinstance(made, NumaTerm), made
    return made


def two_zones(name: str, *free: float, policy: str = "best-effort") -> NodeResourceTopology:
    zones = [
        {GPU: (4.0, free_gpus), "cpu": (16.0, 16.0), "memory": (64e9, 64e9)} for free_gpus in free
    ]
    return topology(name, *zones, policy=policy)

"""How the conformance kit draws zones and policies for Numa."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypothesis import strategies as st

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.numa.policy import Numa
from rescheduler.policytest.topologies import topology
from tests.cluster import reading
from tests.policies.device_drawing import classes, held, offered, on_zones, template, user
from tests.policies.numa_drawing import GPU, guaranteed

TEMPLATES = {"pair": {"gpu": 1, "nic": 1}, "two": {"gpu": 2}, "odd": {"gpu": 1, "nic": 1}}
"""Claims by the name of their template; nobody knows the one of `odd`."""
ODD = (float("nan"), float("inf"), -1.0, 1e30)


@dataclass(frozen=True)
class Zoned:
    """What a blueprint gets besides, so that it has zones.

    zones: of each node, kubelet's policy and scope ("" for a node without an object), and for each
    zone how many GPUs it has that are in use besides. asks: GPUs of each container of each pod.
    halved: whether the pod's annotation names two zones. fullness: the reading of each node.
    devices: of each node, the NUMA nodes of its GPUs and of its NICs that claims can have, None
    for one that is not reported. claims: of each pod the template, "" for none, and which of the
    free devices it has: the first, or the last.
    """

    zones: list[tuple[str, str, list[int]]]
    asks: list[list[int]]
    halved: list[bool]
    fullness: list[float]
    devices: list[tuple[list[int | None], list[int | None]]]
    claims: list[tuple[str, bool]]

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with zones, demands, annotations and the reading."""
        wanted = [0] * len(before.nodes)
        for number, made in enumerate(before.pods):
            on = int(before.pod_node[number])
            total = sum(self.asks[number])
            parts = [("node-0", {GPU: total - total // 2}), ("node-1", {GPU: total // 2})]
            split = self.halved[number] and on >= 0 and len(self.zones[on][2]) > 1
            asking = guaranteed(
                "x", "", *({GPU: ask} for ask in self.asks[number]), lies=parts if split else ()
            )
            made.spec = asking.spec
            made.metadata.annotations = asking.metadata.annotations
            if on >= 0:
                wanted[on] += total
        topologies = []
        for number, (policy, scope, taken) in enumerate(self.zones):
            zones = []
            for more in taken:
                used = min(wanted[number], 8)
                wanted[number] -= used
                zones.append({GPU: (8.0, 8.0 - used), "memory": (8e9, 8e9 - more)})
            # Where the zones cannot hold all, the object disagrees with the pods, as late ones do.
            if policy:
                name = before.nodes[number].metadata.name
                topologies.append(topology(name, *zones, policy=policy, scope=scope))
        full = reading("node.numa.memory", self.fullness, min_coverage=0.0)
        readings = replace(before.readings, entries=(*before.readings.entries, full))
        return replace(before, topologies=topologies, readings=readings, **self._claimed(before))

    def _claimed(self, before: Snapshot) -> dict[str, Any]:
        """The objects of dynamic resource allocation, and the pods' claims for them."""
        slices, free = [], {}
        for node, kinds in enumerate(self.devices):
            name = before.nodes[node].metadata.name
            for kind, zones in zip(("gpu", "nic"), kinds, strict=True):
                devices = on_zones(kind, *zones)
                slices.append(offered(name, f"{kind}.test", *devices))
                free[node, kind] = [device["name"] for device in devices]
        claims = []
        for number, (sort, last) in enumerate(self.claims):
            made, on = before.pods[number], int(before.pod_node[number])
            if not sort:
                continue
            made.spec.resourceClaims = user("x", claim=sort).spec.resourceClaims
            wanted = TEMPLATES[sort]
            left = {kind: free.get((on, kind), []) for kind in wanted}
            if on < 0 or any(len(left[kind]) < count for kind, count in wanted.items()):
                continue
            had = [left[kind].pop(-last) for kind, count in wanted.items() for _ in range(count)]
            name = made.metadata.name
            claim = held(name, before.nodes[on].metadata.name, *had)
            for reference in (
                *(claim.metadata.ownerReferences or ()),
                *(claim.status.reservedFor or ()),
            ):
                reference.uid = made.metadata.uid
            claims.append(claim)
        return {
            "device_classes": classes(),
            "resource_slices": slices,
            "resource_claims": claims,
            "claim_templates": [
                template(name, "", **wanted) for name, wanted in TEMPLATES.items() if name != "odd"
            ],
        }


@cache
def zoned(nodes: int, pods: int) -> st.SearchStrategy[Zoned]:
    """Nodes with one to three zones, some unknown, some late."""

    def many(values: st.SearchStrategy[Any], count: int) -> st.SearchStrategy[list[Any]]:
        return st.lists(values, min_size=count, max_size=count)

    policies = ["single-numa-node", "restricted", "best-effort", "best-effort", "none", "odd", ""]
    many_zones = st.lists(st.sampled_from([0, 0, 1, 1, 2, None]), max_size=4)
    zone = st.tuples(
        st.sampled_from(policies),
        st.sampled_from(["container", "pod"]),
        st.lists(st.integers(0, 2), min_size=1, max_size=3),
    )
    return st.builds(
        Zoned,
        zones=many(zone, nodes),
        asks=many(st.lists(st.integers(0, 4), min_size=1, max_size=2), pods),
        halved=many(st.booleans(), pods),
        fullness=many(st.floats(0, 1.05) | st.sampled_from(ODD), nodes),
        devices=many(st.tuples(many_zones, many_zones), nodes),
        claims=many(
            st.tuples(st.sampled_from(["", "", "pair", "two", "odd"]), st.booleans()), pods
        ),
    )


def numas() -> st.SearchStrategy[Policy]:
    """Policies of kind Numa."""
    everything: Any = {"all": True}
    part: Any = {"labels": {"matchLabels": {"part": "0"}}}
    return st.builds(
        lambda match, crowded: Numa(
            name="n", nodes=everything, match=match, crowded=crowded, minCoverage=0.0
        ),
        st.sampled_from([everything, everything, part]),
        st.sampled_from([None, None, 0.5, 1.0]),
    )

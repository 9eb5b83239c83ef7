"""How the conformance kit draws zones and policies for Numa."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.numa import Numa
from rescheduler.stories.zones import topology
from tests.cluster import reading
from tests.policies.numa_drawing import GPU, guaranteed

ODD = (float("nan"), float("inf"), -1.0, 1e30)


@dataclass(frozen=True)
class Zoned:
    """What a blueprint gets besides, so that it has zones.

    zones: of each node, kubelet's policy and scope ("" for a node without an object), and for each
    zone how many GPUs it has that are in use besides. asks: GPUs of each container of each pod.
    halved: whether the pod's annotation tells of two zones. crowds: the reading of each node.
    """

    zones: list[tuple[str, str, list[int]]]
    asks: list[list[int]]
    halved: list[bool]
    crowds: list[float]

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with zones, demands, annotations and the reading."""
        wanted = [0] * len(before.nodes)
        for number, made in enumerate(before.pods):
            on = int(before.pod_node[number])
            total = sum(self.asks[number])
            parts = [("node-0", {GPU: total - total // 2}), ("node-1", {GPU: total // 2})]
            told = self.halved[number] and on >= 0 and len(self.zones[on][2]) > 1
            asking = guaranteed(
                "x", "", *({GPU: ask} for ask in self.asks[number]), lies=parts if told else ()
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
        crowd = reading("node.numa.memory", self.crowds, min_coverage=0.0)
        readings = replace(before.readings, entries=(*before.readings.entries, crowd))
        return replace(before, topologies=topologies, readings=readings)


@st.composite
def zoned(draw: st.DrawFn, nodes: int, pods: int) -> Zoned:
    """Nodes with one to three zones, some unknown, some late."""

    def many(values: st.SearchStrategy[Any], count: int) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    policies = ["single-numa-node", "restricted", "best-effort", "best-effort", "none", "odd", ""]
    zone = st.tuples(
        st.sampled_from(policies),
        st.sampled_from(["container", "pod"]),
        st.lists(st.integers(0, 2), min_size=1, max_size=3),
    )
    return Zoned(
        zones=many(zone, nodes),
        asks=many(st.lists(st.integers(0, 4), min_size=1, max_size=2), pods),
        halved=many(st.booleans(), pods),
        crowds=many(st.floats(0, 1.05) | st.sampled_from(ODD), nodes),
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

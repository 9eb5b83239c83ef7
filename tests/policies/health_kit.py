"""How the conformance kit draws broken nodes and policies for Health."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from rescheduler.model.cluster.readings import DeviceValue
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.health.policy import Health
from tests.cluster import pod, reading

T = TypeVar("T")
ODD = (float("nan"), float("inf"), -1.0, 1e30)


@dataclass(frozen=True)
class Ailing:
    """The readings of each node that a blueprint gets besides.

    held: whether each pod asks for a GPU, and whether it is reported which; the GPU of the first
    such pod of a node has the node's value. reported: whether each node's devices have readings.
    """

    xid: list[float]
    drops: list[float]
    held: list[tuple[bool, bool]]
    reported: list[bool]

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with these readings."""
        devices: list[DeviceValue] = []
        begun: set[int] = set()
        for number, made in enumerate(before.pods):
            asks, known = self.held[number]
            on = int(before.pod_node[number])
            if not asks:
                continue
            wanted = {"cpu": "100m", "nvidia.com/gpu": "1"}
            made.spec = pod("x", requests=wanted).spec
            if on < 0 or not self.reported[on]:
                continue
            value = 0.0 if on in begun else self.xid[on]
            begun.add(on)
            holders = (number,) if known else ()
            devices.append(DeviceValue(on, f"GPU-{number}", value, str(number), holders))
        xid = reading("node.gpu.xid", self.xid, window=600.0, min_coverage=0.0)
        more = (
            replace(xid, devices=tuple(devices)),
            reading("node.network.drops", self.drops, window=600.0, min_coverage=0.0),
        )
        return replace(
            before,
            readings=replace(before.readings, entries=(*before.readings.entries, *more)),
        )


@cache
def ailing(nodes: int, pods: int) -> st.SearchStrategy[Ailing]:
    """Some sound nodes, some broken ones, some of which nothing is known."""

    def many(values: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
        return st.lists(values, min_size=nodes, max_size=nodes)

    return st.builds(
        Ailing,
        xid=many(st.sampled_from([0.0, 79.0]) | st.sampled_from(ODD)),
        drops=many(st.floats(0, 0.2) | st.sampled_from(ODD)),
        held=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=pods, max_size=pods),
        reported=many(st.booleans()),
    )


def healths() -> st.SearchStrategy[Policy]:
    """Policies of kind Health."""
    everything: Any = {"all": True}
    part: Any = {"labels": {"matchLabels": {"part": "0"}}}
    signs: Any = st.sampled_from([{"xid": True}, {"drops": 0.1}, {"xid": True, "drops": 0.1}])
    return st.builds(
        lambda match, signs, action, unattributed: Health(
            name="h",
            nodes=everything,
            match=match,
            signs=signs,
            action=action,
            unattributed=unattributed,
            minCoverage=0.0,
        ),
        st.sampled_from([everything, everything, part]),
        signs,
        st.sampled_from(["Report", "Drain"]),
        st.sampled_from(["Report", "Drain"]),
    )

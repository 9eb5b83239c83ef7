"""How the conformance kit draws broken nodes and policies for Health."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.health import Health
from tests.cluster import reading

ODD = (float("nan"), float("inf"), -1.0, 1e30)


@dataclass(frozen=True)
class Ailing:
    """The readings of each node that a blueprint gets besides."""

    xid: list[float]
    drops: list[float]

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with these readings."""
        more = (
            reading("node.gpu.xid", self.xid, window=600.0, min_coverage=0.0),
            reading("node.network.drops", self.drops, window=600.0, min_coverage=0.0),
        )
        return replace(
            before,
            readings=replace(before.readings, entries=(*before.readings.entries, *more)),
        )


@st.composite
def ailing(draw: st.DrawFn, nodes: int, pods: int) -> Ailing:
    """Some sound nodes, some broken ones, some of which nothing is known."""

    def many(values: st.SearchStrategy[Any]) -> list[float]:
        return draw(st.lists(values, min_size=nodes, max_size=nodes))

    return Ailing(
        xid=many(st.sampled_from([0.0, 79.0]) | st.sampled_from(ODD)),
        drops=many(st.floats(0, 0.2) | st.sampled_from(ODD)),
    )


def healths() -> st.SearchStrategy[Policy]:
    """Policies of kind Health."""
    everything: Any = {"all": True}
    part: Any = {"labels": {"matchLabels": {"part": "0"}}}
    signs: Any = st.sampled_from([{"xid": True}, {"drops": 0.1}, {"xid": True, "drops": 0.1}])
    return st.builds(
        lambda match, signs, action: Health(
            name="h", nodes=everything, match=match, signs=signs, action=action, minCoverage=0.0
        ),
        st.sampled_from([everything, everything, part]),
        signs,
        st.sampled_from(["Report", "Drain"]),
    )

"""After a zone outage, Spread brings the pods back without breaking a budget."""

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.loop import (
    SPREAD,
    USER,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program
from tests.e2e.troubles import zone_outage

pytestmark = pytest.mark.e2e


def by_zone(cluster: Cluster, app: str) -> Counter[str]:
    return Counter(name[0] for name, pods in cluster.placement(app).items() for _ in range(pods))


def test_a_recovered_zone_gets_its_share(cluster: Cluster, actor: Program, tmp_path: Path) -> None:
    zone_outage(cluster)
    policies = write_policies(tmp_path / "policies", SPREAD, swift(batch=6))
    without_prometheus = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    loop = Loop(without_prometheus, policies)
    mark = cluster.control_plane.audit.mark()

    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()

    cluster.settled()
    for number in range(6):
        counts = by_zone(cluster, f"web-{number}")
        assert max(counts.values()) - min(counts[zone] for zone in "abc") <= 1, counts
    assert not breaches()
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == len(moves)
    only_evictions_and_own_state(records)
    # 6, 0 of 3, 3 becomes 2, 2, 2 with two moves; skew 1 is reached with one more at the most.
    assert 6 <= len(moves) <= 12
    assert all(m["landedOn"] in {share["node"] for share in m["landing"]} for m in moves)

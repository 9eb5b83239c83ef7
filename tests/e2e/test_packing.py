"""Cold nodes are freed whole, and the others take their pods in below the target."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import (
    USER,
    WINDOW,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

PACK = f"""
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {{name: pack}}
spec:
  nodes: {{all: true}}
  match: {{namespaces: [default]}}
  targets:
    cpu: {{high: 70%}}
  strategy: Pack
  cold: 30%
  window: {WINDOW}s
  maxAge: 15s
"""


def test_an_overflow_pool_is_freed_when_the_main_pool_has_room_again(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    # kube-scheduler uses the overflow pool only where it must.
    taint = {"key": "pool", "value": "overflow", "effect": "PreferNoSchedule"}
    cluster.create(*nodes(4, "main", cpu=16, memory="64Gi"))
    cluster.create(*nodes(3, "over", cpu=16, memory="64Gi", taints=[taint]))
    main, over = [f"main{n}" for n in range(1, 5)], [f"over{n}" for n in range(1, 4)]
    load = Load(cpu=1.0, memory=1 << 30)
    rows = [(deployment(f"core-{n}", 4, cpu=1, memory="1Gi", load=load), main) for n in range(6)]
    rows += [(deployment(f"spill-{n}", 3, cpu=1, memory="1Gi", load=load), over) for n in range(3)]
    cluster.create(*(budget(row["metadata"]["name"], max_unavailable=1) for row, _ in rows))
    cluster.arrange(rows, deadline=120)
    metrics.warm(2 * WINDOW)
    loop = Loop(actor, write_policies(tmp_path / "policies", PACK, swift()))

    mark = cluster.control_plane.audit.mark()
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled()

    first = loop.reports[0]["policies"][0]
    assert first["problem"] is None, first
    assert first["cost"]["before"] == 9
    assert {finding["code"] for finding in first["findings"]} == {"UTL002"}
    assert len(moves) == 9
    assert all(move["node"] in over and move["landedOn"] in main for move in moves)
    placement = cluster.placement()
    assert [name for name in over if placement[name]] == []
    assert max(placement[name] for name in main) / 16 <= 0.7
    assert loop.reports[-1]["policies"][0]["cost"]["before"] == 0
    assert not breaches()
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 9
    only_evictions_and_own_state(records)


def test_an_emptied_node_gained_what_was_promised_unless_refilled(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """One is removed, as an autoscaler does it, one gets another pod, and one stays empty."""
    taint = {"key": "pool", "value": "overflow", "effect": "PreferNoSchedule"}
    cluster.create(*nodes(6, "main", cpu=16, memory="64Gi"))
    cluster.create(*nodes(3, "over", cpu=16, memory="64Gi", taints=[taint]))
    load = Load(cpu=1.0, memory=1 << 30)
    main, over = [f"main{n}" for n in range(1, 7)], ["over1", "over2", "over3"]
    rows = [(deployment(f"core-{n}", 6, cpu=1, memory="1Gi", load=load), main) for n in range(6)]
    for node, other in zip(over, main, strict=False):
        spill = deployment(f"spill-{node}", 2, cpu=1, memory="1Gi", load=load)
        rows.append((spill, [node, other]))
    cluster.arrange(rows, deadline=120)
    metrics.warm(2 * WINDOW)
    loop = Loop(actor, write_policies(tmp_path / "policies", PACK, swift()))

    loop.once()

    moves = loop.evicted()
    assert sorted(move["node"] for move in moves) == over
    cluster.settled()
    cluster.api.delete(cluster.api.read("v1", "Node", "over1"))
    cluster.place(deployment("late", 1, cpu=1, memory="1Gi", load=load), ["over2"])
    metrics.warm(WINDOW + 15 + 2)
    report = loop.once(code=None)

    found = {move["node"]: move for move in report["measuredMoves"]}
    assert sorted(found) == over
    assert [move["problem"] for move in found.values() if move.get("problem")] == []
    promised = {name: move["promised"]["pack"] for name, move in found.items()}
    assert promised == pytest.approx(dict.fromkeys(over, 1.0), abs=0.1)
    gained = {name: move["measured"]["pack"] for name, move in found.items()}
    assert gained == pytest.approx({"over1": 1.0, "over2": 0.0, "over3": 1.0}, abs=0.1)
    brought = report["policies"][0]["brought"]
    assert brought["moves"] == 3
    assert brought["measured"] == pytest.approx(2.0, abs=0.1)

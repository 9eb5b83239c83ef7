"""Rules that held when pods were placed, and no longer do, are kept again: by the fewest moves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import HOSTNAME, nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.loop import (
    USER,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

CONFORMITY = """
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {name: rules}
spec:
  match: {namespaces: [default]}
  nodeTaints: {}
  nodeAffinity: {}
  podAntiAffinity: true
  podAffinity: true
"""

TAINT = {"key": "team", "value": "x", "effect": "NoSchedule"}


def beside(kind: str, app: str, key: str = HOSTNAME) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def broken_rules(cluster: Cluster) -> None:
    """10 nodes. n1 gets a taint that one of its workloads tolerates; n5 another kind of disk; two
    pods that must be apart are both on n6; and a pod is far from the cache that it needs.
    """
    cluster.create(*nodes(10, cpu=16, memory="64Gi", zones=["a", "b"], labels={"disk": "ssd"}))
    rows: list[tuple[dict[str, Any], Sequence[str] | Mapping[str, int]]] = [
        (deployment(f"web-{number}", 3, cpu="500m", memory="1Gi"), ["n1", "n2", "n3"])
        for number in range(4)
    ]
    tolerant = deployment("tolerant", 2, tolerations=[{"key": "team", "operator": "Exists"}])
    rows += [
        (tolerant, ["n1", "n2"]),
        (deployment("disk", 2, node_selector={"disk": "ssd"}), ["n5", "n7"]),
        (deployment("db", 2, affinity=beside("podAntiAffinity", "db")), ["n6", "n6"]),
        (deployment("cache", 2), ["n8", "n9"]),
        (deployment("near", 2, affinity=beside("podAffinity", "cache")), ["n8", "n10"]),
        (deployment("calm", 4), ["n2", "n3", "n4", "n10"]),
    ]
    cluster.create(*(budget(row["metadata"]["name"], max_unavailable=1) for row, _ in rows))
    cluster.arrange(rows, deadline=120)
    first = cluster.api.read("v1", "Node", "n1")
    cluster.api.patch(first, {"spec": {"taints": [*first["spec"].get("taints", []), TAINT]}})
    fifth = cluster.api.read("v1", "Node", "n5")
    cluster.api.patch(fifth, {"metadata": {"labels": {"disk": "hdd"}}})


def test_what_was_allowed_and_no_longer_is_moves_and_nothing_else_does(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    broken_rules(cluster)
    still = {app: cluster.placement(app) for app in ("tolerant", "cache", "calm")}
    before = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in cluster.pods()}
    policies = write_policies(tmp_path / "policies", CONFORMITY, swift(batch=6))
    program = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    loop = Loop(program, policies)
    mark = cluster.control_plane.audit.mark()

    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()

    cluster.settled()
    for number in range(4):
        assert "n1" not in cluster.placement(f"web-{number}")
    assert "n5" not in cluster.placement("disk")
    assert set(cluster.placement("db").values()) == {1}
    assert set(cluster.placement("near")) <= {"n8", "n9"}
    assert still == {app: cluster.placement(app) for app in still}
    assert not breaches()
    # Four from the tainted node, and one each of the other three.
    assert len(moves) == 7
    assert sorted(before[move["pod"]["name"]] for move in moves) == [
        *["n1"] * 4,
        "n10",
        "n5",
        "n6",
    ]
    assert {move["reasons"][0]["code"] for move in moves} == {
        "CNF001",
        "CNF002",
        "CNF004",
        "CNF005",
    }
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == len(moves)
    only_evictions_and_own_state(records)
    assert all(m["landedOn"] in {share["node"] for share in m["landing"]} for m in moves)


def test_where_every_node_is_tainted_nothing_is_evicted(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(3, cpu=16, memory="64Gi", zones=["a"]))
    cluster.arrange([(deployment("web", 3), ["n1", "n2", "n3"])])
    for node in cluster.api.items("v1", "Node"):
        own = node["spec"].get("taints", [])
        cluster.api.patch(
            {"apiVersion": "v1", "kind": "Node", **node}, {"spec": {"taints": [*own, TAINT]}}
        )
    policies = write_policies(tmp_path / "policies", CONFORMITY, swift())
    program = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    mark = cluster.control_plane.audit.mark()

    report = Loop(program, policies).once()

    assert report["moves"] == []
    assert {refused["code"] for refused in report["refused"]} == {"FEA001"}
    assert not cluster.control_plane.audit.since(mark).evictions(by=USER)

"""Pods come near their data, as a catalog lists it, and near whom their own podAffinity prefers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster, Places
from tests.e2e.builders.nodes import ZONE, nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import Manifest, deployment
from tests.e2e.loop import (
    USER,
    Json,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program
from tests.sources.server import Reply, Request, serving

pytestmark = pytest.mark.e2e

A, B = ["a1", "a2", "a3"], ["b1", "b2", "b3"]
DATASET = "rescheduler.io/dataset"

LOCALITY = """
apiVersion: rescheduler.io/v1alpha1
kind: Locality
metadata: {name: near}
spec:
  match: {all: true}
  levels:
    - {name: zone, labels: [topology.kubernetes.io/zone]}
"""

AFFINITY = LOCALITY + "  podAffinity: true\n"


CATALOG = LOCALITY + "  datasets: {catalog: lake, timeout: 2s, maxAge: 1s}\n"
"""A policy that asks a catalog, and keeps nothing of its answers."""


def small(name: str, replicas: int, **more: Any) -> Manifest:
    return deployment(name, replicas, cpu="500m", memory="1Gi", **more)


def two_zones(cluster: Cluster, full: Sequence[str], *rows: tuple[Manifest, Places]) -> None:
    """Three nodes in each of two zones, those of `full` nearly so, and a budget for each row."""
    for zone in "ab":
        cluster.create(*nodes(3, prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    cluster.create(*(budget(row["metadata"]["name"], max_unavailable=1) for row, _ in rows))
    cluster.arrange([(deployment("hog", 3, cpu=12, memory="48Gi"), full), *rows])


def without_prometheus(actor: Program, catalog: str = "") -> Program:
    """The program; catalog: the address of the one that policies name `lake`."""
    named = {"RESCHEDULER_DATASET_CATALOGS": f"lake={catalog}"} if catalog else {}
    environment = {**actor.environment, **named}
    return Program(actor.binary, actor.kubeconfig, environment=environment)


def cost(report: Json) -> float:
    [policy] = report["policies"]
    return float(policy["cost"]["before"])


def repaired(cluster: Cluster, loop: Loop, moved: str, near: list[str], code: str) -> None:
    """Run the loop until it is content: all pods of `moved` are on those nodes, none else moved."""
    mark = cluster.control_plane.audit.mark()
    others = {pod["metadata"]["labels"]["app"] for pod in cluster.pods()} - {moved}
    still = {app: cluster.placement(app) for app in others}
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled()
    assert [move["owner"]["name"] for move in moves] == [moved] * 3
    assert all(move["landedOn"] in near for move in moves)
    assert {move["reasons"][0]["code"] for move in moves} == {code}
    assert set(cluster.placement(moved)) <= set(near)
    assert still == {app: cluster.placement(app) for app in others}
    assert not breaches()
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 3
    only_evictions_and_own_state(records)
    assert cost(loop.reports[-1]) == 0


def test_pods_go_where_the_catalog_says_that_their_data_is(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    two_zones(
        cluster,
        B,
        (small("train", 3, annotations={DATASET: "pile"}), B),
        (small("lost", 3, annotations={DATASET: "nobody-has-it"}), B),
        (small("other", 3), B),
    )
    known = {"datasets": {"pile": {"zone": ["a"]}, "unasked": {"zone": ["b"]}}}
    with serving(lambda _: Reply(json.dumps(known).encode())) as served:
        policies = write_policies(tmp_path / "policies", CATALOG, swift())
        loop = Loop(without_prometheus(actor, served.url), policies)
        repaired(cluster, loop, "train", A, "LOC003")

        assert cost(loop.reports[0]) == 3
        assert "no node is known to hold 1 dataset: " in json.dumps(loop.reports[0]["notes"])
        assert {request.method for request in served.requests} == {"GET"}
        # The data is copied to the other zone: being there would be as good, and nothing moves.
        known["datasets"]["pile"]["zone"].append("b")
        report = loop.once()
        assert (report["moves"], cost(report)) == ([], 0)


def _refusing(_request: Request) -> Reply:
    return Reply(b"{}", status=503)


def _nonsense(_request: Request) -> Reply:
    return Reply(b'{"datasets": {"pile": ["a"]}}')


def test_while_the_catalog_is_down_nothing_moves_and_the_report_says_so(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    two_zones(
        cluster,
        B,
        (small("train", 3, annotations={DATASET: "pile"}), B),
    )
    mark = cluster.control_plane.audit.mark()
    reports = []
    for name, answer in (("refusing", _refusing), ("nonsense", _nonsense)):
        with serving(answer) as served:
            reports.append(_once(actor, tmp_path / name, served.url))
    reports.append(_once(actor, tmp_path / "gone", served.url))
    for report in reports:
        [policy] = report["policies"]
        assert report["moves"] == []
        assert policy["problem"]["code"] == "RDG001"
        assert "catalog lake" in policy["problem"]["message"]
        assert "127.0.0.1" not in json.dumps(report)
    assert "503" in reports[0]["policies"][0]["problem"]["message"]
    assert "refused" in reports[2]["policies"][0]["problem"]["message"]
    assert cluster.placement("train") == dict.fromkeys(B, 1)
    assert cluster.control_plane.audit.since(mark).evictions(by=USER) == []


def _once(actor: Program, folder: Path, url: str) -> Json:
    program = without_prometheus(actor, url)
    return Loop(program, write_policies(folder, CATALOG, swift())).once(code=1)


def prefers(app: str) -> dict[str, Any]:
    """A podAffinity that prefers the zone of another workload."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}
    preference = {"weight": 100, "podAffinityTerm": term}
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}


def test_whom_pods_prefer_to_be_near_is_considered_again(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    two_zones(
        cluster,
        B,
        (small("cache", 3, node_selector={ZONE: "a"}), A),
        (small("front", 3, affinity=prefers("cache")), B),
        (small("alone", 3, affinity=prefers("nobody")), B),
        (small("other", 3), B),
    )
    policies = write_policies(tmp_path / "policies", AFFINITY, swift())
    loop = Loop(without_prometheus(actor), policies)

    repaired(cluster, loop, "front", A, "LOC004")

    assert cost(loop.reports[0]) == 3
    assert "podAffinity terms are not counted" in json.dumps(loop.reports[0]["notes"])


def test_a_preference_that_has_no_room_evicts_nobody(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    """The partners' zone has no room at all, so a replacement would come back."""
    two_zones(
        cluster,
        A,
        (deployment("rest", 3, cpu="3500m", memory="1Gi"), A),
        (small("cache", 3, node_selector={ZONE: "a"}), A),
        (small("front", 3, affinity=prefers("cache")), B),
    )
    policies = write_policies(tmp_path / "policies", AFFINITY, swift())
    mark = cluster.control_plane.audit.mark()

    report = Loop(without_prometheus(actor), policies).once()

    assert cost(report) == 3
    assert report["moves"] == []
    assert {refusal["code"] for refusal in report["refused"]} <= {"FEA001", "FEA002", "FEA003"}
    assert report["refused"]
    assert cluster.control_plane.audit.since(mark).evictions(by=USER) == []

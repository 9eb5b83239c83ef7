"""A pod that was replaced between plan and act: the fresh one lives."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.plan_digest import seal_plan
from rescheduler.reporting.formats.plan_json import from_json, to_json
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment, stateful_set
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import USER, WINDOW, plan, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def test_a_fresh_pod_of_the_same_name_lives(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(6, cpu=16, memory="64Gi"))
    busy = Load(cpu=3.0)
    cluster.arrange(
        [
            (stateful_set("db", 4, cpu=1, memory="1Gi", load=busy), {"n1": 4}),
            (deployment("filler", 5, cpu=2, memory="8Gi"), ["n2", "n3", "n4", "n5", "n6"]),
            (deployment("anchor", 2, cpu=6, memory="24Gi"), {"n1": 2}),
        ]
    )
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(cpu="60%"), swift())
    file = tmp_path / "plan.json"
    done = actor.run("plan", "--policies", policies, "-o", "json", "--out", file)
    assert done.code == 0, done.stderr
    planned = json.loads(file.read_text(encoding="utf-8"))
    (move,) = planned["moves"]
    victim = next(p for p in cluster.pods("db") if p["metadata"]["uid"] == move["pod"]["uid"])

    cluster.api.delete(victim)
    cluster.until(
        lambda: move["pod"]["uid"] not in {p["metadata"]["uid"] for p in cluster.pods("db")},
        "the old pod gone",
    )
    cluster.settled()
    fresh = {p["metadata"]["name"]: p["metadata"]["uid"] for p in cluster.pods("db")}
    mark = cluster.control_plane.audit.mark()
    done = actor.run("apply", file, "--yes", "-o", "json")

    assert done.code in (3, 5), done.stderr
    assert "Traceback" not in done.stderr
    (outcome,) = json.loads(done.stdout)["moves"]
    assert outcome["result"] in {"refused", "skipped"}
    assert outcome["code"] in {"ACT002", "ACT003", "DRF001"}, outcome
    accepted = [
        r for r in cluster.control_plane.audit.since(mark).evictions(by=USER) if r.code < 300
    ]
    assert not accepted
    assert {p["metadata"]["name"]: p["metadata"]["uid"] for p in cluster.pods("db")} == fresh


def test_a_plan_of_another_cluster_is_refused(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(3), deployment("web", 3))
    cluster.settled()
    metrics.warm(WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(cpu="60%"), swift())
    done, planned = plan(actor, policies)
    mark = cluster.control_plane.audit.mark()
    elsewhere = "00000000-0000-0000-0000-000000000000"

    edited = tmp_path / "edited.json"
    cluster_there = {**planned["cluster"], "uid": elsewhere}
    edited.write_text(json.dumps({**planned, "cluster": cluster_there}), encoding="utf-8")
    refused = actor.run("apply", edited, "--yes")
    assert refused.code == 5, refused.stderr
    assert "changed: `cluster`" in refused.stderr

    made = from_json(done.stdout.encode())
    assert isinstance(made, Plan)
    there = structs.replace(made.cluster, uid=elsewhere)
    foreign = tmp_path / "foreign.json"
    foreign.write_bytes(to_json(seal_plan(structs.replace(made, cluster=there))))
    done = actor.run("apply", foreign, "--yes")
    assert done.code == 5, done.stderr
    assert f"was made for cluster {elsewhere}" in done.stderr
    assert "Traceback" not in done.stderr

    assert not cluster.control_plane.audit.since(mark).writes(by=USER)

"""F63: an unattended run shows first what a policy selects that was edited, and says so."""

import json
from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.demotions import demotions
from tests.e2e.load_scenarios import zone_outage
from tests.e2e.loop import NAMESPACE, SPREAD, Json, Loop, plan, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

LIMITS = swift(per_cycle=1).replace("auditFirst: 0s", "auditFirst: 1h")
NARROW = SPREAD.replace("{namespaces: [default]}", "{labels: {matchLabels: {app: web-0}}}")
"""Of the six workloads that are skewed it selects one."""


def selected(report: Json) -> Json:
    (policy,) = report["policies"]
    return {"mode": policy["mode"], **policy["selection"]}


def test_a_selector_that_is_edited_evicts_nothing_until_people_let_it(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    zone_outage(cluster)
    program = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    loop = Loop(program, write_policies(tmp_path / "policies", NARROW, LIMITS))
    installed = loop.once(code=3)
    assert selected(installed)["problem"]["code"] == "SEL001", "in the first run all are new"
    assert loop.evicted() == []
    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    cluster.api.patch(state, {"data": {"selections": "forget"}})
    first = loop.once()
    moved = len(loop.evicted())
    assert moved > 0, "people let it act"
    assert first["plan"]["policies"][0]["selection"]["problem"] is None
    cluster.settled()

    write_policies(loop.policies, SPREAD)
    report = loop.once(code=3)
    found = selected(report)
    assert (found["mode"], found["problem"]["code"]) == ("Audit", "SEL001")
    assert found["pods"] > found["knownPods"] > 0
    assert {move["mode"] for move in report["moves"]} == {"Audit"}, "it shows what it would do"
    assert len(loop.evicted()) == moved
    changed = "SEL001 Policy zones was changed: seen at"
    assert [note.startswith(changed) for note in demotions(cluster)].count(True) == 1

    done, planned = plan(program, loop.policies)
    assert done.code == 0
    assert {move["mode"] for move in planned["moves"]} == {"Enforce"}, "people may apply it"
    file = tmp_path / "plan.json"
    file.write_text(done.stdout, encoding="utf-8")
    applied = json.loads(program.run("apply", file, "--yes", "-o", "json").stdout)
    assert {move["result"] for move in applied["moves"]} == {"evicted"}

    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    cluster.api.patch(state, {"data": {"selections": "forget"}})
    report = loop.once(code=None)
    assert selected(report)["problem"] is None
    assert selected(report)["mode"] == "Enforce"
    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    assert "selections" not in state["data"]

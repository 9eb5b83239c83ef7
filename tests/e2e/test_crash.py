"""Killed in the middle of a batch, the next run knows what was done, and does nothing twice."""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import USER, WINDOW, Loop, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def test_a_killed_run_is_not_repeated(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    scenario = hot_gpus(cluster, count=20, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift(batch=8))
    audit = cluster.control_plane.audit
    mark = audit.mark()
    log = tmp_path / "killed.log"
    command = ("--once", "--policies", policies, "--mode", "Enforce", "-o", "json")
    process = actor.start("run", *command, log=log)
    limit = time.monotonic() + 60
    while not audit.since(mark).evictions(by=USER):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < limit, log.read_text(encoding="utf-8")
    process.kill()
    process.wait()
    killed = [r for r in audit.since(mark).evictions(by=USER) if r.code == 201]
    assert 1 <= len(killed) < 8

    loop = Loop(actor, policies, pause=2 * WINDOW)
    limit = time.monotonic() + 150
    while (report := loop.once(code=None))["verdict"]["code"] == "GRD005":
        assert report["moves"] == [] or all(m.get("result") != "evicted" for m in report["moves"])
        assert time.monotonic() < limit, "the dead holder's lock never expired"
        time.sleep(2)
    time.sleep(loop.pause)
    loop.until_content()
    cluster.settled()

    evictions = [r for r in audit.since(mark).evictions(by=USER) if r.code == 201]
    uids = Counter(r.requestObject["deleteOptions"]["preconditions"]["uid"] for r in evictions)
    assert set(uids.values()) == {1}
    # 8 moves repair it; what the killed run had done is counted, not done again.
    assert 8 <= len(evictions) <= 9
    assert max(scenario.load(cluster).values()) <= 0.5

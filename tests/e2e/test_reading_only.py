"""`plan` and Audit mode read, and write nothing at all."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import AUDITOR, SPREAD, WINDOW, Loop, plan, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def test_plan_and_audit_leave_no_trace(
    cluster: Cluster, metrics: Metrics, reporter: Program, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=20, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), SPREAD, swift())
    mark = cluster.control_plane.audit.mark()

    done, planned = plan(reporter, policies)
    audited = Loop(reporter, policies).once(mode="Audit")
    page = tmp_path / "page.html"
    shown = reporter.run("plan", "--policies", policies, "-o", "html", "--out", page)

    assert (done.code, shown.code) == (0, 0), done.stderr + shown.stderr
    assert planned["moves"]
    assert audited["moves"]
    assert "<html" in page.read_text(encoding="utf-8")
    records = cluster.control_plane.audit.since(mark)
    assert records.reads(by=AUDITOR).on("pods")
    # It asks what it may see of steering; that is answered and never stored.
    assert {r.resource for r in records.writes(by=AUDITOR)} <= {"selfsubjectaccessreviews"}


def test_audit_has_no_right_to_evict(
    cluster: Cluster, metrics: Metrics, reporter: Program, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift())
    mark = cluster.control_plane.audit.mark()

    done = reporter.run("run", "--once", "--policies", policies, "--mode", "Enforce")

    assert done.code not in (0, 2), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "Maybe" in done.stderr
    records = cluster.control_plane.audit.since(mark)
    assert not [r for r in records.writes(by=AUDITOR) if r.code < 300]

"""Alerts and dashboards, by a Prometheus that scraped a real run and by Grafana's types."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.monitoring.alerts import ALERTS, IDLE_BUDGET
from tests.deploy.monitoring.dashboards import DASHBOARDS
from tests.deploy.monitoring.files import COMPONENT, FOLDER, RULES
from tests.deploy.monitoring.panels import Query
from tests.deploy.monitoring.selectors import selectors
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.versions import GRAFANA_SCHEMA
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.exporter.prometheus import Prometheus, installed
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import WINDOW, swift, utilization, write_policies
from tests.e2e.program import Program
from tests.e2e.replica import Replica

pytestmark = pytest.mark.e2e

GRAFANA = {"$__rate_interval": "1m", "$cluster": ".*"}
"""What Grafana writes for its variables where all clusters are chosen."""

IDLE = """
apiVersion: rescheduler.io/v1alpha1
kind: IdleGPUs
metadata: {name: idle}
spec: {match: {all: true}, below: 90%, stableFor: 10s}
"""

UNREACHED = """
apiVersion: rescheduler.io/v1alpha1
kind: Notifications
metadata: {name: notifications}
spec:
  receivers:
    - {name: nobody, type: Webhook, addressFile: absent, occasions: [PlanAwaitsReview, IdleOwners]}
"""

OPEN_ALERTS = 'ALERTS{alertstate=~"pending|firing"}'


@pytest.fixture(scope="session")
def grafana_schema() -> Path:
    return binaries([GRAFANA_SCHEMA])["grafana-schema"]


def dashboards() -> list[Path]:
    return sorted((COMPONENT / "dashboards").glob("*.json"))


def test_grafana_knows_every_field_of_the_dashboards(grafana_schema: Path) -> None:
    assert len(dashboards()) == len(DASHBOARDS)
    subprocess.run([grafana_schema, *dashboards()], check=True, timeout=60)


@pytest.mark.parametrize("place", ["", "panels/0", "panels/0/options", "panels/0/targets/0"])
def test_a_field_that_grafana_does_not_know_is_seen(
    grafana_schema: Path, tmp_path: Path, place: str
) -> None:
    dashboard = json.loads(dashboards()[0].read_text(encoding="utf-8"))
    spoiled: Any = dashboard
    for step in filter(None, place.split("/")):
        spoiled = spoiled[int(step) if step.isdigit() else step]
    spoiled["colour"] = "red"
    (tmp_path / "spoiled.json").write_text(json.dumps(dashboard), encoding="utf-8")
    command = [grafana_schema, tmp_path / "spoiled.json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "colour" in ended.stdout


def test_promtool_accepts_the_rules_and_each_alert_fires_on_its_fault() -> None:
    promtool = installed("promtool")
    for verb, path in (("check", RULES), ("test", FOLDER / "rules_test.yaml")):
        subprocess.run([promtool, verb, "rules", path], check=True, timeout=300)


@pytest.fixture
def replicas(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> Iterator[list[Replica]]:
    """One that leads and has moved pods, and one that stands by."""
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(2 * WINDOW)
    limits = swift(per_cycle=2, batch=2)
    busy = utilization(gpu="50%")
    policies = write_policies(tmp_path / "policies", busy, limits, IDLE, UNREACHED)
    started: list[Replica] = []
    try:
        first = Replica(actor, policies, tmp_path, "first")
        started.append(first)
        cluster.until(lambda: first.cycles() >= 1, f"a cycle: {first.log}", 60)
        started.append(Replica(actor, policies, tmp_path, "second"))
        yield started
    finally:
        for replica in started:
            if replica.process.poll() is None:
                replica.process.terminate()
                replica.process.wait(60)


@pytest.fixture
def prometheus(replicas: list[Replica], tmp_path: Path) -> Iterator[Prometheus]:
    """What scrapes both, and evaluates the rules, each second."""
    targets = [replica.url.removeprefix("http://") for replica in replicas]
    own = {"targets": targets, "labels": {"cluster": "eu-1"}}
    job = {"job_name": "rescheduler", "static_configs": [own]}
    server = Prometheus(tmp_path / "monitoring", 0, jobs=[job], rules=[RULES])
    try:
        yield server
    finally:
        server.stop()


def unanswered(prometheus: Prometheus, shown: Query) -> bool:
    expr = shown.expr
    for variable, value in GRAFANA.items():
        expr = expr.replace(variable, value)
    assert "$" not in expr
    return not prometheus.rows(expr)


def test_every_query_answers_and_nothing_alarms_while_a_standby_takes_over(
    cluster: Cluster, replicas: list[Replica], prometheus: Prometheus
) -> None:
    first, second = replicas
    begun = first.cycles()
    cluster.until(lambda: first.cycles() >= begun + 3, f"three cycles: {first.log}", 120)
    prometheus.wait_for('rescheduler_moves_total{outcome="evicted"} > 0')
    prometheus.wait_for("increase(rescheduler_cycles_total[1d]) > 0")
    for kind in ("idle_gpus", "notifications_total"):
        prometheus.wait_for(f"count_over_time(rescheduler_{kind}[1m]) > 1")

    silent = {
        f"{dashboard.name}: {panel.title}: {shown.expr}"
        for dashboard in DASHBOARDS
        for panel in dashboard.panels
        for shown in panel.queries
        if unanswered(prometheus, shown) and not shown.quiet
    }
    assert not silent
    for alert in ALERTS:
        absent = [part for part in selectors(alert.expr) if not prometheus.rows(part)]
        assert alert.quiet or not absent, alert.name

    (group,) = prometheus.rule_groups()
    assert {rule["name"] for rule in group["rules"]} == {IDLE_BUDGET, *(a.name for a in ALERTS)}
    assert {(rule["health"], rule.get("lastError", "")) for rule in group["rules"]} == {("ok", "")}
    assert prometheus.query(OPEN_ALERTS) == []
    leads = {labels["instance"]: value for labels, value in prometheus.query("rescheduler_leading")}
    assert [leads[replica.url.removeprefix("http://")] for replica in replicas] == [1, 0]

    first.process.terminate()
    assert first.process.wait(60) == 0
    cluster.until(lambda: second.cycles() >= 2, f"a successor: {second.log}", 120)
    prometheus.wait_for("rescheduler_leading == 1 and on (instance) rescheduler_policy_evaluated")
    prometheus.wait_for(f"absent({OPEN_ALERTS})")
    plans = prometheus.query("rescheduler_policy_evaluated")
    assert {labels["instance"] for labels, _ in plans} == {second.url.removeprefix("http://")}
    assert not re.search("Traceback", first.said() + second.said())

"""What is made from the catalogue of metrics is up to date, and names nothing that is not there."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import click
import yaml

from rescheduler.cli.main import program
from rescheduler.model.reasons import CATALOG
from rescheduler.runtime.servers.metric_catalogue import LABELS, METRICS, Metric
from tests.cases import every
from tests.deploy.manifests import KUSTOMIZE, documents
from tests.deploy.monitoring import alerts
from tests.deploy.monitoring.alerts import ALERTS, Alert
from tests.deploy.monitoring.dashboards import DASHBOARDS
from tests.deploy.monitoring.files import COMPONENT, FOLDER, ROOT, RULES, RUNBOOKS, made_files
from tests.deploy.monitoring.objects import RUNBOOKS as ADDRESS
from tests.deploy.monitoring.panels import Panel
from tests.deploy.monitoring.selectors import metric_names
from tests.programs import require_program
from tests.release.artifacts import PROJECT

NAMES = {row.name: row for row in METRICS}
PANELS = {
    f"{dashboard.name}: {panel.title}": (panel,)
    for dashboard in DASHBOARDS
    for panel in dashboard.panels
}
GRAFANA_VARIABLES = re.compile(r"\$\w+")
HEADINGS = [
    "What it means",
    "What to look at first",
    "What to do",
    "When it is no problem",
]


def metric_of(series: str) -> Metric | None:
    """The row of a series' name; None for those of others."""
    return NAMES.get(series) or NAMES.get(re.sub("_(bucket|sum|count)$", "", series))


def alert_named(name: str) -> Alert:
    return next(alert for alert in ALERTS if alert.name == name)


def test_the_files_are_what_make_monitoring_makes() -> None:
    for path, text in made_files().items():
        assert path.read_text(encoding="utf-8") == text, f"run `make monitoring`: {path}"
    dashboards = set((COMPONENT / "dashboards").iterdir())
    assert dashboards == {path for path in made_files() if path.suffix == ".json"}


@every({alert.name: (alert,) for alert in ALERTS})
def test_an_alert_is_about_metrics_of_the_catalogue(alert: Alert) -> None:
    for name in metric_names(alert.expr):
        assert metric_of(name) or name.startswith("kube_cronjob_") or name == alerts.IDLE_BUDGET
    said = f"{alert.summary} {alert.description}"
    by = {word for words in re.findall(r"by \(([^)]*)\)", alert.expr) for word in words.split(", ")}
    assert set(re.findall(r"\$labels\.(\w+)", said)) <= by
    assert set(re.findall(r"[A-Z]{3}\d{3}", said)) <= CATALOG.keys()
    assert alert.summary.endswith(".")
    assert alert.description.endswith(".")
    assert "{{" not in alert.description, "it stands in the README too"


def test_each_guard_has_its_place_among_the_alerts() -> None:
    guards = {code for code in CATALOG if code.startswith("GRD")}
    watched = (*alerts.PERSON_MUST_LOOK, *alerts.PASSING, *alerts.NO_ALERT)
    assert len(watched) == len(guards)
    assert set(watched) == guards


@every({alert.name: (alert,) for alert in ALERTS})
def test_an_alert_has_its_page_and_a_test_in_which_it_fires(alert: Alert) -> None:
    page = (RUNBOOKS / f"{alert.name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {alert.name}\n")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    assert set(re.findall(r"[A-Z]{3}\d{3}", page)) <= CATALOG.keys()
    for link in re.findall(r"\]\(([\w./]+\.md)", page):
        assert (RUNBOOKS / link).resolve().is_file(), link
    tests = (FOLDER / "rules_test.yaml").read_text(encoding="utf-8")
    assert f'alertname="{alert.name}",alertstate="firing"' in tests
    for code in ("PERSON_MUST_LOOK", "PASSING", "HELD_PODS", "DEAD_STEERING"):
        watched = getattr(alerts, code)
        if "|".join(watched) in alert.expr:
            assert all(reason in page for reason in watched), alert.name


def test_pages_name_commands_that_there_are() -> None:
    context = click.Context(program)
    for path in [*RUNBOOKS.iterdir(), FOLDER / "README.md"]:
        said = path.read_text(encoding="utf-8")
        commands = re.findall(
            r"(?:^ {4}|`|\| )rescheduler ([a-z]+)(?: ([a-z]+))?", said, re.MULTILINE
        )
        for verb, word in commands:
            command: Any = program.get_command(context, verb)
            assert command is not None, f"{path.name}: {verb}"
            if verb == "explain":
                assert command.get_command(context, word) is not None, path.name
            elif verb == "reset":
                assert word in command.params[0].type.choices, path.name


def test_commands_of_a_page_are_one_block() -> None:
    """A line without its four spaces is no command, and it joins those below to its paragraph."""
    for path in RUNBOOKS.iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        commands = [number for number, line in enumerate(lines) if line.startswith("    ")]
        assert commands, path.name
        for number in commands:
            before = lines[number - 1]
            assert before == "" or before.startswith("    "), f"{path.name}: {before}"
        outside = [line for line in lines if re.match("(kubectl|rescheduler) ", line)]
        assert not outside, path.name


def test_there_is_no_page_of_an_alert_that_is_gone() -> None:
    assert {path.stem for path in RUNBOOKS.iterdir()} == {alert.name for alert in ALERTS}


def test_the_rules_are_the_same_for_the_operator_and_link_their_pages() -> None:
    plain = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    (rule,) = (found for found in documents(COMPONENT) if found["kind"] == "PrometheusRule")
    assert rule["spec"] == plain
    assert f"https://github.com/{PROJECT}/blob/main/{RUNBOOKS.relative_to(ROOT)}" == ADDRESS
    first, *others = plain["groups"][0]["rules"]
    assert first["record"] == alerts.IDLE_BUDGET
    for row in others:
        assert row["annotations"]["runbook_url"] == f"{ADDRESS}/{row['alert']}.md"
        assert row["labels"]["severity"] in {"warning", "info"}


def selected_ports(monitor: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The named ports of the pods in a component that a PodMonitor selects."""
    found = []
    for manifest in documents(folder):
        if manifest["kind"] != "Deployment":
            continue
        template = manifest["spec"]["template"]
        name = template["metadata"]["labels"]["app.kubernetes.io/name"]
        selector = monitor["spec"]["selector"]
        wanted = [*selector.get("matchLabels", {}).values()]
        wanted += [value for row in selector.get("matchExpressions", ()) for value in row["values"]]
        if name in wanted:
            found += [
                port for container in template["spec"]["containers"] for port in container["ports"]
            ]
    return found


def test_the_monitors_select_the_pods_and_the_port_that_have_metrics() -> None:
    monitors = {m["metadata"]["name"]: m for m in documents(COMPONENT) if m["kind"] == "PodMonitor"}
    for name, folder in (
        ("rescheduler", "deployment"),
        ("rescheduler-servers", "steering-webhook"),
        ("rescheduler-servers", "steering-extender"),
    ):
        (endpoint,) = monitors[name]["spec"]["podMetricsEndpoints"]
        ports = selected_ports(monitors[name], KUSTOMIZE / folder)
        assert [port["name"] for port in ports] == [endpoint["port"]], folder
        assert endpoint.get("scheme", "http") == endpoint["port"]


@every(PANELS)
def test_a_panel_shows_metrics_of_the_catalogue_by_their_labels(panel: Panel) -> None:
    assert panel.text.endswith(".")
    for shown in panel.queries:
        expr = GRAFANA_VARIABLES.sub("1m", shown.expr)
        rows = [metric_of(name) for name in metric_names(expr)]
        labels = {"cluster", "instance", "job", "alertname", "alertstate", "le"}
        for name, row in zip(metric_names(expr), rows, strict=True):
            assert row or name.startswith("process_") or name == "ALERTS", name
            labels |= set(row.labels if row else ())
        used = {
            word
            for words in re.findall(r"(?:by|on) \(([^)]*)\)", expr)
            for word in words.split(", ")
        }
        assert used <= labels
        assert set(re.findall(r"\{\{(\w+)\}\}", shown.legend)) <= labels
        assert '{cluster=~"$cluster"' in shown.expr
    wide = panel.width <= 24 and panel.view in {"timeseries", "stat", "state-timeline", "table"}
    assert wide


def test_every_metric_is_on_a_dashboard_or_in_an_alert() -> None:
    queries = [alert.expr for alert in ALERTS]
    queries += [shown.expr for (panel,) in PANELS.values() for shown in panel.queries]
    used = {
        row.name for query in queries for name in metric_names(query) if (row := metric_of(name))
    }
    unused = NAMES.keys() - used
    assert unused == {
        "rescheduler_budget_moves",  # the amounts are in the Limits
        "rescheduler_cycle_last_success_timestamp_seconds",  # for people's own rules
        "rescheduler_landing_compared",  # how much the two beside it are worth
    }
    assert len(LABELS) < 30


def test_panels_lie_beside_and_below_each_other() -> None:
    for path in (COMPONENT / "dashboards").iterdir():
        dashboard = json.loads(path.read_text(encoding="utf-8"))
        taken: set[tuple[int, int]] = set()
        for panel in dashboard["panels"]:
            grid = panel["gridPos"]
            assert grid["x"] + grid["w"] <= 24
            cells = {
                (x, y)
                for x in range(grid["x"], grid["x"] + grid["w"])
                for y in range(grid["y"], grid["y"] + grid["h"])
            }
            assert not taken & cells, panel["title"]
            taken |= cells
        assert dashboard["uid"] == path.stem


def test_promtool_accepts_the_rules_and_their_tests_pass() -> None:
    require_program("promtool", "prometheus")
    for command in (["check", "rules", RULES], ["test", "rules", FOLDER / "rules_test.yaml"]):
        ended = subprocess.run(
            ["promtool", *map(str, command)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr

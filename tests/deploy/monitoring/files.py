"""Every file of deploy/ that is made from the catalogue, by its path."""

from pathlib import Path

from rescheduler.model.reasons import _ALL
from rescheduler.policies.limits import Limits
from rescheduler.runtime.servers.metric_catalogue import LABELS, METRICS
from tests.deploy.monitoring import objects
from tests.deploy.monitoring.alerts import ALERTS
from tests.deploy.monitoring.dashboards import DASHBOARDS
from tests.deploy.monitoring.panels import dashboard_text

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "monitoring"
COMPONENT = ROOT / "deploy" / "kustomize" / "monitoring"
README = FOLDER / "README.md"
RULES = FOLDER / "rules.yaml"
REASONS = FOLDER / "REASONS.md"
RUNBOOKS = FOLDER / "runbooks"


def made_files() -> dict[Path, str]:
    """What each file ought to be."""
    names = [dashboard.name for dashboard in DASHBOARDS]
    files = {
        RULES: objects.plain_rules(),
        COMPONENT / "prometheusrule.yaml": objects.prometheus_rule(),
        COMPONENT / "podmonitor.yaml": objects.pod_monitors(),
        COMPONENT / "kustomization.yaml": objects.kustomization(names),
        REASONS: _reasons_page(),
        README: _with_tables(README.read_text(encoding="utf-8")),
    }
    for dashboard in DASHBOARDS:
        path = COMPONENT / "dashboards" / f"rescheduler-{dashboard.name}.json"
        files[path] = dashboard_text(dashboard)
    return files


def _reasons_page() -> str:
    """What each reason code means: labels and reports show codes."""
    # Tests add codes of limits of their own to the catalog, which nobody else has.
    reasons = {reason.code: reason for reason in _ALL}
    reasons |= {row.code: row.reason for row in Limits().move_limits}
    rows: list[tuple[str, ...]] = [("Code", "What it means", "What to do"), ("---",) * 3]
    rows += [
        (code, reason.sentence, reason.advice or "Nothing.")
        for code, reason in sorted(reasons.items())
    ]
    head = "# Reason codes\n\nMade by `make monitoring` from `rescheduler/model/reasons.py`.\n\n"
    return head + _table(rows)


def _table(rows: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _with_tables(text: str) -> str:
    """The page, with its tables made again."""
    tables = {"metrics": _metric_rows(), "labels": _label_rows(), "alerts": _alert_rows()}
    for name, rows in tables.items():
        begin, end = f"<!-- {name}: made by `make monitoring` -->\n", f"<!-- end of {name} -->\n"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"{README.name} has no place for the table of {name}")
        text = before + begin + _table(rows) + end + after
    return text


def _metric_rows() -> list[tuple[str, ...]]:
    return [
        ("Metric", "Type", "Labels", "Unit", "What it is"),
        ("---",) * 5,
        *(
            (
                f"`{row.name}`",
                row.type,
                ", ".join(row.labels),
                row.unit,
                row.text.replace("|", "\\|"),
            )
            for row in METRICS
        ),
    ]


def _label_rows() -> list[tuple[str, ...]]:
    return [
        ("Label", "Its value"),
        ("---",) * 2,
        *((f"`{name}`", text) for name, text in LABELS.items()),
    ]


def _alert_rows() -> list[tuple[str, ...]]:
    return [
        ("Alert", "Severity", "After", "What it means"),
        ("---",) * 4,
        *(
            (
                f"[{alert.name}](runbooks/{alert.name}.md)",
                alert.severity,
                alert.wait,
                alert.description,
            )
            for alert in ALERTS
        ),
    ]

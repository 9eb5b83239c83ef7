"""The tables of metrics, labels and alerts, made from the catalogue and the rows of the alerts."""

from rescheduler.runtime.servers.metric_catalogue import LABELS, METRICS
from tests.deploy.monitoring.alerts import ALERTS


def metrics_part() -> str:
    """Every metric of the service."""
    head = ("Metric", "Type", "Labels", "Unit", "What it is")
    return _table(
        head,
        [(f"`{row.name}`", row.type, ", ".join(row.labels), row.unit, row.text) for row in METRICS],
    )


def labels_part() -> str:
    """What the labels of metrics say."""
    return _table(("Label", "Its value"), [(f"`{name}`", text) for name, text in LABELS.items()])


def alerts_part() -> str:
    """Every alert, with its runbook as a link from the folder of the reference."""
    runbooks = "../../deploy/monitoring/runbooks"
    return _table(
        ("Alert", "Severity", "After", "What it means"),
        [
            (
                f"[{alert.name}]({runbooks}/{alert.name}.md)",
                alert.severity,
                alert.wait,
                alert.description,
            )
            for alert in ALERTS
        ],
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head)]
    lines += [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

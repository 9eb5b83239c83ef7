"""Every file of deploy/ that is made from the catalogue, by its path."""

from pathlib import Path

from tests.deploy.monitoring import objects
from tests.deploy.monitoring.dashboards import DASHBOARDS
from tests.deploy.monitoring.panels import dashboard_text

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "monitoring"
COMPONENT = ROOT / "deploy" / "kustomize" / "monitoring"
RULES = FOLDER / "rules.yaml"
RUNBOOKS = FOLDER / "runbooks"


def made_files() -> dict[Path, str]:
    """What each file ought to be."""
    names = [dashboard.name for dashboard in DASHBOARDS]
    files = {
        RULES: objects.plain_rules(),
        COMPONENT / "prometheusrule.yaml": objects.prometheus_rule(),
        COMPONENT / "podmonitor.yaml": objects.pod_monitors(),
        COMPONENT / "kustomization.yaml": objects.kustomization(names),
    }
    for dashboard in DASHBOARDS:
        path = COMPONENT / "dashboards" / f"rescheduler-{dashboard.name}.json"
        files[path] = dashboard_text(dashboard)
    return files

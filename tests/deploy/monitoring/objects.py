"""The rules and monitors, as a plain Prometheus, its operator and kustomize read them."""

from typing import Any

import yaml

from tests.deploy.monitoring.alerts import ALERTS, IDLE_BUDGET, IDLE_BUDGET_HOURS, Alert
from tests.release.artifacts import PROJECT

RUNBOOKS = f"https://github.com/{PROJECT}/blob/main/deploy/monitoring/runbooks"
"""Where people read the runbooks; `make monitoring` writes it into every alert."""

MADE = "# Made by `make monitoring`: edit tests/deploy/monitoring, not this file.\n"

_NAME = "app.kubernetes.io/name"
_LABELS = {_NAME: "rescheduler"}


class _Writer(yaml.SafeDumper):
    """Writes texts of several lines so that people can read them."""

    def ignore_aliases(self, data: Any) -> bool:
        """No anchors: each object is written out."""
        return True


def _written_text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Texts of several lines as a block, and addresses on a line of their own."""
    style = "|" if "\n" in text else ">" if text.startswith("https://") else None
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Writer.add_representer(str, _written_text)


def yaml_text(document: dict[str, Any], comment: str = "") -> str:
    """A document as a file of deploy/, within the house's width."""
    return MADE + comment + _dumped(document)


def _dumped(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Writer, sort_keys=False, width=100)


def rule_groups() -> list[dict[str, Any]]:
    """The groups of rules."""
    budget = {"record": IDLE_BUDGET, "expr": f"vector({IDLE_BUDGET_HOURS})"}
    rules = [budget, *map(_rule, ALERTS)]
    return [{"name": "rescheduler", "rules": rules}]


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.wait,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{RUNBOOKS}/{alert.name}.md",
        },
    }


def plain_rules() -> str:
    """A file for `rule_files` of a plain Prometheus."""
    return yaml_text({"groups": rule_groups()})


def prometheus_rule() -> str:
    """The same for Prometheus' operator."""
    return yaml_text(_object("PrometheusRule", {"groups": rule_groups()}))


def pod_monitors() -> str:
    """What the operator scrapes: the Deployment's pods, for those of a CronJob have no port."""
    service = _object(
        "PodMonitor",
        {
            "jobLabel": _NAME,
            "selector": {"matchLabels": _LABELS},
            "podMetricsEndpoints": [{"port": "http", "path": "/metrics", "interval": "30s"}],
        },
    )
    servers = ["rescheduler-extender", "rescheduler-webhook"]
    others = _object(
        "PodMonitor",
        {
            "jobLabel": _NAME,
            "selector": {"matchExpressions": [{"key": _NAME, "operator": "In", "values": servers}]},
            "podMetricsEndpoints": [
                {
                    "port": "https",
                    "path": "/metrics",
                    "scheme": "https",
                    "interval": "30s",
                    "tlsConfig": {"insecureSkipVerify": True},
                }
            ],
        },
        name="rescheduler-servers",
    )
    comment = (
        "# A CronJob's pods are gone before they could be scraped: what can be seen of it comes\n"
        "# from kube-state-metrics (ReschedulerCronJobFails) and from `rescheduler status`.\n"
    )
    between = (
        "---\n# The servers that steer, where they are installed. Their certificates are their\n"
        "# own, and /metrics has no secrets.\n"
    )
    return yaml_text(service, comment) + between + _dumped(others)


def _object(kind: str, spec: dict[str, Any], name: str = "rescheduler") -> dict[str, Any]:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "rescheduler", "labels": dict(_LABELS)},
        "spec": spec,
    }


def kustomization(dashboards: list[str]) -> str:
    """The component: the objects, and a ConfigMap for each dashboard."""
    maps = [
        {
            "name": f"rescheduler-dashboard-{name}",
            "namespace": "rescheduler",
            "files": [f"dashboards/rescheduler-{name}.json"],
        }
        for name in dashboards
    ]
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": ["podmonitor.yaml", "prometheusrule.yaml"],
        "configMapGenerator": maps,
        "generatorOptions": {
            "disableNameSuffixHash": True,
            "labels": {**_LABELS, "grafana_dashboard": "1"},
            "annotations": {"grafana_folder": "Rescheduler"},
        },
    }
    comment = (
        "# Prometheus' operator scrapes the Deployment and watches the alerts; Grafana's sidecar\n"
        '# reads the ConfigMaps with the label `grafana_dashboard: "1"`. See deploy/monitoring.\n'
    )
    return yaml_text(document, comment)

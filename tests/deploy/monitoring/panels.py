"""Grafana's JSON of a dashboard: panels from left to right, in rows that are 24 wide."""

import json
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]
View = Literal["timeseries", "stat", "state-timeline", "table"]

SCHEMA_VERSION = 39
"""Of Grafana 10.4; later ones read it and convert it."""

_SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
_TOOLTIP = {"mode": "multi", "sort": "desc"}
_OPTIONS: dict[View, Json] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": _TOOLTIP,
    },
    "stat": {
        "graphMode": "none",
        "colorMode": "value",
        "justifyMode": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    "state-timeline": {
        "showValue": "never",
        "rowHeight": 0.9,
        "mergeValues": True,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"},
    },
    "table": {"frameIndex": 0, "showHeader": True, "cellHeight": "sm"},
}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel. quiet: why a sound run may have no series for it."""

    expr: str
    legend: str = ""
    quiet: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. text: what it shows, for people who see it first. unit: Grafana's name of it."""

    title: str
    text: str
    queries: tuple[Query, ...]
    view: View = "timeseries"
    unit: str = "short"
    width: int = 8
    height: int = 8
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard: its name in addresses, and its panels."""

    name: str
    title: str
    text: str
    panels: tuple[Panel, ...]


def query(expr: str, legend: str = "", quiet: str = "") -> Query:
    """A query, in which `$c` is the choice of clusters."""
    return Query(expr.replace("$c", 'cluster=~"$cluster"'), legend, quiet)


def latest(name: str, *labels: str, quiet: str = "") -> Query:
    """What the process shows that leads, by cluster and these labels."""
    by = ("cluster", *labels)
    return query(f"max by ({', '.join(by)}) (rescheduler_{name}{{$c}})", _legend(by), quiet)


def grown(name: str, *labels: str, where: str = "", quiet: str = "") -> Query:
    """How much a counter grew in a day, by these labels; over all instances."""
    matchers = f"$c, {where}" if where else "$c"
    counted = f"increase(rescheduler_{name}_total{{{matchers}}}[1d])"
    return query(f"sum by ({', '.join(labels)}) ({counted})", _legend(labels), quiet)


def _legend(labels: tuple[str, ...]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def panel(title: str, text: str, *queries: Query, **options: Any) -> Panel:
    """Lines over time."""
    return Panel(title, text, queries, **options)


def stat(title: str, text: str, *queries: Query, **options: Any) -> Panel:
    """The latest value, large."""
    return Panel(title, text, queries, view="stat", **{"width": 4, "height": 5, **options})


def states(title: str, text: str, *queries: Query, **options: Any) -> Panel:
    """What is 0 or 1, as a band over time."""
    return Panel(title, text, queries, view="state-timeline", most=1, **{"width": 12, **options})


def table(title: str, text: str, *queries: Query, **options: Any) -> Panel:
    """A row for each set of labels, a column for each query."""
    return Panel(title, text, queries, view="table", **options)


def dashboard_text(dashboard: Dashboard) -> str:
    """The dashboard as a file."""
    return json.dumps(_dashboard(dashboard), indent=2, ensure_ascii=False) + "\n"


def _dashboard(dashboard: Dashboard) -> Json:
    return {
        "uid": f"rescheduler-{dashboard.name}",
        "title": f"Rescheduler / {dashboard.title}",
        "description": dashboard.text,
        "tags": ["rescheduler"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": SCHEMA_VERSION,
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "annotations": {"list": []},
        "templating": {"list": [_SOURCE_VARIABLE, _CLUSTER_VARIABLE]},
        "links": [_LINK],
        "panels": _placed(dashboard.panels),
    }


_SOURCE_VARIABLE: Json = {
    "type": "datasource",
    "name": "datasource",
    "label": "Prometheus",
    "query": "prometheus",
    "hide": 0,
    "multi": False,
    "includeAll": False,
    "options": [],
    "refresh": 1,
    "regex": "",
    "skipUrlSync": False,
}
_CLUSTER_VARIABLE: Json = {
    "type": "query",
    "name": "cluster",
    "label": "Cluster",
    "datasource": _SOURCE,
    "query": {"query": "label_values(rescheduler_info, cluster)", "refId": "Clusters"},
    "definition": "label_values(rescheduler_info, cluster)",
    # All: also where there is but one cluster, whose series have no such label.
    "allValue": ".*",
    "current": {"text": "All", "value": "$__all"},
    "hide": 0,
    "includeAll": True,
    "multi": True,
    "options": [],
    "refresh": 2,
    "regex": "",
    "skipUrlSync": False,
    "sort": 1,
}
_LINK: Json = {
    "title": "Rescheduler",
    "type": "dashboards",
    "icon": "external link",
    "tooltip": "",
    "url": "",
    "tags": ["rescheduler"],
    "asDropdown": True,
    "targetBlank": False,
    "includeVars": True,
    "keepTime": True,
}


def _placed(panels: tuple[Panel, ...]) -> list[Json]:
    placed, x, y, highest = [], 0, 0, 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > 24:
            x, y, highest = 0, y + highest, 0
        position = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        placed.append(_panel(number, panel, position))
        x, highest = x + panel.width, max(highest, panel.height)
    return placed


def _panel(number: int, panel: Panel, position: Json) -> Json:
    defaults: Json = {"unit": panel.unit}
    if panel.view != "table":
        defaults |= {"min": 0}
    if panel.most is not None:
        defaults |= {"max": panel.most}
    made: Json = {
        "id": number,
        "type": panel.view,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _OPTIONS[panel.view],
        "targets": [_target(panel, rank) for rank in range(len(panel.queries))],
    }
    if panel.view == "table":
        made["transformations"] = _columns(panel)
    return made


def _target(panel: Panel, rank: int) -> Json:
    table = panel.view == "table"
    return {
        "refId": chr(ord("A") + rank),
        "datasource": _SOURCE,
        "expr": panel.queries[rank].expr,
        "legendFormat": panel.queries[rank].legend or "__auto",
        "instant": table,
        "range": not table,
        "format": "table" if table else "time_series",
    }


def _columns(panel: Panel) -> list[Json]:
    """One row for each set of labels, one column for each query, named by its legend."""
    many = len(panel.queries) > 1
    names = {
        f"Value #{chr(ord('A') + rank)}" if many else "Value": shown.legend
        for rank, shown in enumerate(panel.queries)
    }
    return [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True},
                "indexByName": {},
                "renameByName": names,
            },
        },
    ]

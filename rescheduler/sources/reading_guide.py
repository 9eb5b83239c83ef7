"""The guide to all readings, written from the catalogue so that it cannot be wrong."""

import re

from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.prometheus.definition import Definition, Source, fill

_SERIES = re.compile(r"([A-Za-z_:][\w:]*)\{")
"""A metric's name; every selector of the catalogue has braces, for the operator's own matchers."""

_WINDOW = 300.0

_INTRODUCTION = """\
## Readings

What the policies measure with: where each reading comes from, and the queries that are sent. What
is absent stays absent; where there are several queries for the value, a later one completes what
the first does not report. `--prometheus-selector` adds its matchers to every selector.

Traffic between pods (`pair.traffic`) and distances (`pair.distance`) are queries of your own: see
[Locality](#locality).
"""

_EXPORTERS = {
    "DCGM_FI_DEV_ECC_": "dcgm-exporter; add the field to its list of counters",
    "DCGM_FI_PROF_": "dcgm-exporter, as far as the GPU has profiling fields",
    "DCGM_FI_DEV_": "dcgm-exporter",
    "container_": "kubelet: `/metrics/cadvisor`",
    "node_cpu_usage_seconds_total": "kubelet: `/metrics/resource`",
    "node_cpu_": "node_exporter: collector `cpu`",
    "node_infiniband_": "node_exporter: collector `infiniband`",
    "node_memory_numa_": "node_exporter: `--collector.meminfo_numa`, off by default",
    "node_memory_": "node_exporter: collector `meminfo`",
    "node_netstat_": "node_exporter: collector `netstat`",
    "node_network_speed_": "node_exporter: collector `netclass`; none on many virtual machines, "
    "where `linkSpeed` gives it",
    "node_network_": "node_exporter: collector `netdev`",
    "node_pressure_": "node_exporter: collector `pressure`",
    "node_time_": "node_exporter: collector `time`",
    "sriov_kubepoddevice": "sriov-network-metrics-exporter: collector `kubepoddevice`",
    "sriov_vf_": "sriov-network-metrics-exporter: collector `sriovdev`",
}
"""How series begin, and what exports them; the first that fits counts."""


def reading_guide() -> str:
    """The part of policies/README.md about readings."""
    rows = ["| reading | unit | series | exporter |", "|---|---|---|---|"]
    parts = [_INTRODUCTION, "", "### PromQL of the readings", ""]
    for name, definition in CATALOG.items():
        first = f"`{name}`"
        unit = definition.unit
        for series in series_of(definition):
            rows.append(f"| {first} | {unit} | `{series}` | {exporter(series)} |")
            first = unit = ""
        parts += [f"#### `{name}`", "", "```promql", *_queries(definition), "```", ""]
    parts[1:1] = [*rows, "", f"The queries below have a window of {_WINDOW / 60:g} minutes."]
    return "\n".join(parts).rstrip() + "\n"


def series_of(definition: Definition) -> list[str]:
    """The names of all metrics that a reading is made of, in the order of its queries."""
    templates = " ".join(text for _, text in _templates(definition))
    return list(dict.fromkeys(_SERIES.findall(templates)))


def exporter(series: str) -> str:
    """What exports a series.

    Raises:
        KeyError: the catalogue has a series that nothing is said about here.
    """
    for beginning, said in _EXPORTERS.items():
        if series.startswith(beginning):
            return said
    raise KeyError(series)


def _templates(definition: Definition) -> list[tuple[str, str]]:
    """What each query is for, and its template."""
    answer: list[tuple[str, str]] = []
    for source in definition.sources:
        answer += _source("the value", source)
    if definition.beside is not None:
        what = "the speed" if definition.fold == "link" else "what is free"
        answer += _source(what, definition.beside)
    if definition.holders:
        answer.append(("which pods have the devices", definition.holders))
    return answer


def _source(what: str, source: Source) -> list[tuple[str, str]]:
    scaled = "" if source.scale == 1.0 else f", times {source.scale:g}"
    total = what if not source.weight else f"{what}: the sum of its samples"
    said = [(total + scaled, source.value)]
    said += [("their number", source.weight)] if source.weight else []
    return said + ([("the time of its newest sample", source.fresh)] if source.fresh else [])


def _queries(definition: Definition) -> list[str]:
    return [
        line
        for what, template in _templates(definition)
        for line in (f"# {what}", fill(template, _WINDOW, ""))
    ]

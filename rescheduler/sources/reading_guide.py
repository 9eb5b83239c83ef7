"""The guide to all readings, written from the catalogue so that it cannot be wrong."""

import re
from collections.abc import Iterable, Iterator

from rescheduler.documents.promql import selectors
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.own_readings.presets import PRESETS
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.prometheus.definition import Definition, Source, fill

_SERIES = re.compile(r"([A-Za-z_:][\w:]*)\{")
"""A metric's name; every selector of the catalogue has braces, for the operator's own matchers."""

_WINDOW = 300.0

_INTRODUCTION = """\
## Built-in readings

What the policies measure with: where each reading comes from, and the queries that are sent. What
is absent stays absent; where there are several queries for the value, a later one completes what
the first does not report. `--prometheus-selector` adds its matchers to every selector. A document
of kind [Readings](#readings) replaces any of them, or adds others.

Traffic between pods (`pair.traffic`) and distances (`pair.distance`) are queries of your own: see
[Locality](#locality).
"""

_EXPORTERS = {
    "kubernetes_io:": "Google Cloud Monitoring: GKE system metrics",
    "hw_": "Intel XPU Manager 2 (`xpumd`)",
    "node_disk_": "node_exporter: collector `diskstats`",
    "node_filesystem_": "node_exporter: collector `filesystem`",
    "node_hwmon_": "node_exporter: collector `hwmon`",
    "node_load": "node_exporter: collector `loadavg`",
    "node_nf_conntrack_": "node_exporter: collector `conntrack`",
    "DCGM_FI_DEV_ECC_": "dcgm-exporter; add the field to its list of counters",
    "DCGM_FI_PROF_": "dcgm-exporter, as far as the GPU has profiling fields",
    "DCGM_FI_DEV_": "dcgm-exporter",
    "gpu_": "AMD device-metrics-exporter",
    "habanalabs_": "Gaudi metric exporter",
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

_PRESETS = """\
## Presets

What a document of kind [Readings](#readings) can include by name. Readings with the name of a
built-in one replace it for the nodes that offer the devices, and for the pods that ask for them.
"""

_ABOUT = {
    "dcgm": "NVIDIA GPUs by dcgm-exporter: what is not built in.",
    "amd": "AMD GPUs by device-metrics-exporter: what is not built in.",
    "intel": "Intel GPUs by XPU Manager 2, and Gaudi: what is not built in. Pods are not told, so "
    "nodes are reported and not relieved.",
    "node-exporter": "What node_exporter tells beside the built-in readings.",
    "gke-managed": "Google Kubernetes Engine's system metrics, without any exporter. They are up "
    "to 5 minutes old: policies need `maxAge: 6m`.",
}


def reading_guide() -> str:
    """The part of policies/README.md about readings."""
    rows = list(_HEAD)
    parts = [_INTRODUCTION, "", "### PromQL of the readings", ""]
    for name, definition in CATALOG.items():
        rows += _rows(name, definition.unit, series_of(definition))
        parts += _section(f"`{name}`", _queries(definition))
    parts[1:1] = [*rows, "", f"The queries below have a window of {_WINDOW / 60:g} minutes."]
    return "\n".join([*parts, *_presets()]).rstrip() + "\n"


_HEAD = ("| reading | unit | series | exporter |", "|---|---|---|---|")


def _rows(name: str, unit: str, series: Iterable[str]) -> list[str]:
    rows, first = [], f"`{name}`"
    for each in series:
        rows.append(f"| {first} | {unit} | `{each}` | {exporter(each)} |")
        first = unit = ""
    return rows


def _section(title: str, queries: Iterable[str]) -> list[str]:
    return [f"#### {title}", "", "```promql", *queries, "```", ""]


def _presets() -> Iterator[str]:
    """The presets, each with a table and its queries."""
    yield from (_PRESETS, "")
    for preset, readings in PRESETS.items():
        yield from (f"### Preset {preset}", "", _ABOUT[preset], "", *_HEAD)
        for name, own in readings.items():
            templates = [query for _, query in _own(own)]
            found = dict.fromkeys(
                each.partition("{")[0] for query in templates for each in selectors(query)
            )
            yield from _rows(name, own.unit, found)
        yield ""
        for name, own in readings.items():
            lines = [line for what, query in _own(own) for line in _shown(what, query)]
            yield from _section(f"`{name}` of {preset}", lines)


def _own(own: OwnReading) -> list[tuple[str, str]]:
    """What each query of a definition is for, and its template."""
    several = f", {own.combine.lower()} of its {own.labels.kind}s" if own.labels.part else ""
    said = [(f"the value{several}", own.value)]
    if own.capacity is not None and own.capacity.query is not None:
        said.append(("how much 100% is", own.capacity.query))
    return [*said, ("the time of its newest sample", own.dated)]


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
    for source in definition.beside:
        what = "the speed" if definition.fold == "link" else "what is free"
        answer += _source(what, source)
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
    return [line for what, query in _templates(definition) for line in _shown(what, query)]


def _shown(what: str, template: str) -> tuple[str, str]:
    return f"# {what}", fill(template, _WINDOW, "")

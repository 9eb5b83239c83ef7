"""Documents of kind Readings: what they define, and where they are wrong."""

import re
import textwrap
from pathlib import Path

import pytest

from rescheduler.documents.envelope import to_document
from rescheduler.documents.promql import selectors
from rescheduler.kube.nodes.accelerators import maker
from rescheduler.model.errors import PolicyError
from rescheduler.policies.own_readings.definition import NODE_LABELS, OwnReading
from rescheduler.policies.own_readings.readings_document import preset_of
from rescheduler.policies.own_readings.shipped_documents import PRESETS
from rescheduler.sources.policy_files import load_policies
from rescheduler.sources.prometheus.catalog import CATALOG
from tests.cases import every
from tests.policies.own_readings.queue_length import QUEUE


def refused(folder: Path, text: str) -> str:
    file = folder / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load_policies(file)
    return str(caught.value)


def test_policies_ask_for_what_is_defined(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(QUEUE, encoding="utf-8")
    found = load_policies(file)
    asked = {request.name: request for request in found.requests()}
    assert list(asked) == ["node.queue", "pod.queue", "node.gpu.temperature", "node.disk.space"]
    [own] = asked["node.queue"].own
    assert own.unit == "count"
    assert own.dated == "timestamp(queue_length{$match})"
    assert asked["node.disk.space"].own is None
    [utilization, health] = found.policies
    assert asked["node.queue"] == utilization.requests()[0]  # policies ask by the name alone
    assert [request.name for request in health.requests()] == [
        "node.gpu.temperature",
        "node.disk.space",
    ]
    assert found.requests()[0].key != utilization.requests()[0].key


COUNT = "unit: count\n---"
"""The last line of the reading of pods."""
CAP = "unit: count\n      cap"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "node) (avg_over_time(queue_length{$match}",
            'node) (avg_over_time(queue_length{job="x"}',
            'a.yaml:7:14: spec.readings.node.queue.value: `queue_length{job="x"}` has no $match',
        ),
        (
            "node) (avg_over_time(queue_length{$match}",
            "node) (avg_over_time(queue_length",
            "Maybe `queue_length{$match}`",
        ),
        ("avg_over_time(queue_length{$match}[$window])", "vector(1)", "selects no series"),
        (CAP, "unit: furlongs\n      cap", "readings.node.queue.unit: must be"),
        (CAP, "cap", "readings.node.queue.unit: is required"),
        ("{fixed: 100}", "{fixed: 0}", "capacity.fixed: must be more than 0"),
        ("{fixed: 100}", "{fixed: 1, allocatable: true}", "exactly one of fixed, query"),
        ("{fixed: 100}", "{allocatable: true}", "`allocatable` needs `resources`"),
        ("node.queue:", "queue:", "must be `node.` or `pod.` and a name"),
        (COUNT, "unit: count\n      nodes: {all: true}\n---", "`nodes` has no meaning"),
        (COUNT, "unit: count\n      capacity: {fixed: 1}\n---", "pods have no capacity"),
        (
            "$window]))\n      unit: count\n      cap",
            "$window])) / sum(x{$match})\n      unit: count\n      cap",
            "has several selectors, so `fresh` is required",
        ),
        ("{queue: {high", "{gpu: {high", "`gpu` is built in"),
        ("{queue: {high", "{network.receive: {high", "`network.receive` is built in"),
        ("node.disk.space: 95%", "pod.cpu: 95%", "must be the name of a reading of nodes"),
        ("  readings:", "  presets: [nvidia]\n  readings:", "spec.presets.0: must be"),
        (COUNT, "unit: count\n      labels: {device: a, link: b}\n---", "at most one of"),
        (COUNT, "unit: count\n      labels: {pod: a}\n---", "namespace and pod are given"),
    ],
)
def test_what_is_wrong_has_its_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in QUEUE
    answer = refused(tmp_path, QUEUE.replace(old, new, 1))
    assert "a.yaml:" in answer
    assert words in answer


def test_a_reading_is_defined_once(tmp_path: Path) -> None:
    amd = "\n---\napiVersion: rescheduler.io/v1alpha1\nkind: Readings\nmetadata: {name: %s}\n"
    amd += "spec: {presets: [%s]}\n"
    answer = refused(tmp_path, QUEUE + amd % ("a", "amd") + amd % ("b", "intel"))
    assert "spec.presets: reading `node.gpu.temperature` is defined in" in answer
    file = tmp_path / "b.yaml"
    file.write_text(QUEUE + amd % ("a", "amd, intel"), encoding="utf-8")
    own = load_policies(file).definitions
    makers = [reading.resources[0] for reading in own["node.gpu.temperature"]]
    assert makers == ["amd.com/gpu", "gpu.intel.com/i915"]


def test_an_own_definition_replaces_that_of_the_preset(tmp_path: Path) -> None:
    text = QUEUE.replace("  readings:", "  presets: [node-exporter]\n  readings:", 1)
    text = text.replace("node.queue:", "node.conntrack:", 1)
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    own = load_policies(file).definitions
    assert [reading.unit for reading in own["node.conntrack"]] == ["count"]
    assert "node.disk.space" in own


@every(
    [
        ("sum by (a) (rate(x_total{$match}[$window])) / on (node) y{$match}", 2),
        ('label_replace(up{$match}, "node", "$1", "instance", "(.+):.*") or vector(1)', 1),
        ("quantile_over_time(0.95, (rate(z{$match}[1m]))[$window:$step]) > bool 1e9", 1),
        ('{__name__="x.y",$match} offset 5m', 1),
        ("time() - kubernetes_io:node_cpu{$match} and on () (a unless b) # c", 3),
    ]
)
def test_selectors_of_a_query(query: str, found: int) -> None:
    assert len(selectors(query)) == found


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_can_be_written_as_a_document(preset: str) -> None:
    for name, own in preset_of(preset).readings.items():
        assert OwnReading.model_validate(own.model_dump(mode="json", exclude_none=True)) == own
        assert name.startswith(("node.", "pod."))
        if name.startswith("pod."):
            assert own.capacity is None


@pytest.mark.parametrize("preset", ["amd", "intel"])
def test_presets_do_not_replace_what_is_built_in_for_the_same_devices(preset: str) -> None:
    for name, own in preset_of(preset).readings.items():
        built_in = {reading.devices for reading in CATALOG[name]} if name in CATALOG else set()
        assert not built_in & {maker(resource) for resource in own.resources}, name


TRAFFIC = """\
apiVersion: rescheduler.io/v1alpha1
kind: Readings
metadata: {name: mesh}
spec:
  traffic:
    mesh:
      series: mesh_sent_bytes_total{$match}
      source: {namespace: source_namespace, name: source_workload}
      destination: {namespace: destination_namespace, name: destination_workload}
---
apiVersion: rescheduler.io/v1alpha1
kind: Locality
metadata: {name: near}
spec:
  match: {all: true}
  traffic: {reading: mesh}
"""


def test_locality_follows_traffic_that_is_defined_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(TRAFFIC, encoding="utf-8")
    found = load_policies(file)
    [request] = found.requests()
    assert request.name == "pair.traffic"
    assert request.series == "mesh_sent_bytes_total{$match}"
    assert request.columns[0] == "source_namespace"
    assert "mesh_sent_bytes_total" in str(to_document(found.policies[0]))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "{reading: mesh}",
            "{reading: mash}",
            "a.yaml:16:22: spec.traffic.reading: no document of kind Readings has traffic `mash`",
        ),
        ("{reading: mesh}", "{reading: mesh, series: x}", "series belongs in the document that"),
        ("{reading: mesh}", "{series: x}", "spec.traffic.source: is required; or set `reading`"),
        ("total{$match}", "total", "`mesh_sent_bytes_total` has no $match"),
        ("      destination:", "      destinationDomain: z\n      destination:", "exactly one of"),
    ],
)
def test_what_is_wrong_with_traffic_has_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in TRAFFIC
    assert words in refused(tmp_path, TRAFFIC.replace(old, new, 1))


def test_the_page_about_metrics_is_true(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "policies/METRICS.md").read_text()
    assert ", ".join(f"`{label}`" for label in NODE_LABELS) in text
    example = text.partition("    apiVersion")[2].partition("\n\n")[0]
    document = textwrap.dedent(f"    apiVersion{example}\n")
    file = tmp_path / "a.yaml"
    file.write_text(f"{document}---\n{QUEUE}", encoding="utf-8")
    own = load_policies(file).definitions
    [cpu] = own["node.cpu"]
    assert 'node_cpu_seconds_total{$match job="node-exporter", mode="idle"}' in cpu.value
    [link] = own["node.network.receive"]
    assert 'device=~"bond0|hsn[0-9]+"' in link.value
    assert all('job="nvidia-dcgm-exporter"' in query for query in own["node.gpu"][0].queries)
    for preset in re.findall(r"presets: \[([\w-]+)\]", text):
        assert preset in PRESETS

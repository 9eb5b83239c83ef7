"""The documents of node_exporter ask for series that it has, here and in its own tests.

Here it has what this machine has; in its own tests it answers from files of larger machines.
"""

import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

from rescheduler.documents.promql import selectors
from rescheduler.policies.own_readings.readings_document import (
    ReadingsDocument,
    built_in,
    preset_of,
)
from rescheduler.sources.prometheus.catalog import fill
from tests.e2e.backends.engines import Engine
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import free_ports
from tests.e2e.controlplane.versions import NODE_EXPORTER, Program

pytestmark = pytest.mark.e2e

KUBELETS_OWN = {"node_cpu_usage_seconds_total"}
"""What stands in where there is no node_exporter."""
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$")


def module(program: Program, path: str) -> Path:
    """The folder of the module from which a program is built."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", path]
    done = subprocess.run(command, cwd=program.folder, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, dict[str, str]]]:
    """Name and labels of each series of both."""
    folder = module(NODE_EXPORTER, "github.com/prometheus/node_exporter")
    text = (folder / "collector" / "fixtures" / "e2e-output.txt").read_text()
    (port,) = free_ports(1)
    command = [str(binaries()["node_exporter"]), f"--web.listen-address=127.0.0.1:{port}"]
    url = f"http://127.0.0.1:{port}"
    engine = Engine("node_exporter", command, tmp_path_factory.mktemp("exporter"), url, "/metrics")
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
            text += answer.read().decode()
    finally:
        engine.stop()
    matches = (_SERIES.match(line) for line in text.splitlines())
    return [(m[1], dict(re.findall(r'(\w+)="([^"]*)"', m[2] or ""))) for m in matches if m]


def fits(labels: dict[str, str], selector: str) -> bool:
    """Whether a series has what the matchers of a selector ask for."""
    for label, how, value in _MATCHER.findall(selector):
        there = labels.get(label, "")
        matches = bool(re.fullmatch(value, there)) if "~" in how else there == value
        if matches == how.startswith("!"):
            return False
    return True


DOCUMENTS = [next(readings for readings in built_in() if readings.name == "node-exporter")]
DOCUMENTS.append(preset_of("node-exporter"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=["built-in", "preset"])
def test_node_exporter_has_every_series_that_is_asked_for(
    document: ReadingsDocument, output: list[tuple[str, dict[str, str]]]
) -> None:
    absent = {
        selector
        for own in document.own_readings.values()
        for query in own.queries
        for selector in selectors(fill(query, 300.0, ""))
        if selector.partition("{")[0] not in KUBELETS_OWN
        and not any(
            name == selector.partition("{")[0] and fits(labels, selector) for name, labels in output
        )
    }
    assert not absent


@pytest.mark.parametrize("document", DOCUMENTS, ids=["built-in", "preset"])
def test_the_labels_of_parts_and_groups_are_node_exporters(
    document: ReadingsDocument, output: list[tuple[str, dict[str, str]]]
) -> None:
    labels_of: dict[str, set[str]] = {}
    for name, labels in output:
        labels_of.setdefault(name, set()).update(labels)
    for name, own in document.own_readings.items():
        metrics = [one.partition("{")[0] for one in selectors(fill(own.value, 300.0, ""))]
        known = set().union(*(labels_of[metric] for metric in metrics))
        left = re.findall(r"(?:without|ignoring) \(([\w,]+)\)", own.value)
        used = {own.labels.part} if own.labels.part else set()
        used.update(label for group in left for label in group.split(","))
        assert used <= known, (name, used - known)

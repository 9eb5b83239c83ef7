"""What each document makes of its exporter's answers, as a real Prometheus has scraped them.

A file of `answers/` has the cluster, the labels that scraping adds, what the exporter answers, and
what must be read. `1e9+50` is a counter that grows by 50 a second; every other value stays.
"""

import subprocess
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rescheduler.kube.objects import NodeAddress
from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.files.policy_set import readings_from_document
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests import cluster
from tests.e2e.recorded_answers import CASES, series

pytestmark = pytest.mark.e2e

STEP, PAST, AHEAD = 15, 1200, 300
_OWN = ("namespace", "pod", "container", "node", "job", "instance")


def scraped(case: str, answer: dict[str, Any], now: int) -> Iterator[tuple[str, str]]:
    """Each metric with its samples in the text format of OpenMetrics."""
    for name, shown, start, growth in series(case, answer):
        for at in range(now - PAST, now + AHEAD, STEP):
            yield name, f"{shown} {start + growth * (at - now + PAST)!r} {at}"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that has all answers, each with a label `case`."""
    folder = tmp_path_factory.mktemp("answers")
    now = int(time.time())
    lines: dict[str, list[str]] = {}
    for case, answer in CASES:
        for name, line in scraped(case, answer, now):
            lines.setdefault(name, []).append(line)
    text = "".join(
        f"# TYPE {name} unknown\n" + "".join(f"{line}\n" for line in found)
        for name, found in lines.items()
    )
    (folder / "in.txt").write_text(f"{text}# EOF\n")
    made = [
        "promtool", "tsdb", "create-blocks-from", "openmetrics", str(folder / "in.txt"),
        str(folder / "data"),
    ]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n")
    port = 39097
    started = [
        "prometheus", f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    process = subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _ready(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def _ready(address: str) -> str:
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"{address}/-/ready", timeout=1):
                return address
        except OSError:
            time.sleep(0.2)
    raise AssertionError("prometheus does not start")


def snapshot(answer: dict[str, Any]) -> Snapshot:
    nodes = []
    for name, node in answer["nodes"].items():
        made = cluster.node(
            name, allocatable=node.get("allocatable", {}), labels=node.get("labels", {})
        )
        found = node.get("address")
        made.status.addresses = [NodeAddress(type="InternalIP", address=found)] if found else []
        nodes.append(made)
    pods = []
    for key, pod in answer.get("pods", {}).items():
        namespace, _, name = key.partition("/")
        found = cluster.pod(
            name, pod["node"], namespace=namespace, requests=pod.get("requests", {})
        )
        found.status.podIP = pod.get("address")
        pods.append(found)
    return cluster.snapshot(nodes, pods)


def read(url: str, case: str, answer: dict[str, Any]) -> tuple[Snapshot, dict[str, Reading]]:
    before = snapshot(answer)
    own: dict[str, Any] = {}
    if "readings" in answer:
        document = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "Readings"}
        made = readings_from_document(
            {**document, "metadata": {"name": "own"}, "spec": answer["readings"]}
        )
        own = made.definitions()
    requests = [
        ReadingRequest(name, 300.0, own=own.get(name), min_coverage=0.5)
        for name in answer["expect"]
    ]
    prometheus = Prometheus(url, selector=f'case="{case}"')
    try:
        entries = read_readings(prometheus, requests, before).entries
    finally:
        prometheus.close()
    return before, {reading.name: reading for reading in entries}


@pytest.mark.parametrize(("case", "answer"), CASES, ids=[case for case, _ in CASES])
def test_an_answer_is_read_as_it_is_meant(url: str, case: str, answer: dict[str, Any]) -> None:
    before, found = read(url, case, answer)
    for name, expected in answer["expect"].items():
        reading = found[name]
        subjects = (
            [node.metadata.name for node in before.nodes]
            if name.startswith("node.")
            else [pod.key for pod in before.pods]
        )
        said = f"{name}: {reading.problem} {reading.notes}"
        values = dict(zip(subjects, reading.values.tolist(), strict=True))
        for subject, value in expected.items():
            if subject == "says":
                assert value in said, said
            elif value is None:
                assert np.isnan(values[subject]), (subject, values, said)
            else:
                assert values[subject] == pytest.approx(value, rel=0.03, abs=1e-4), (subject, said)

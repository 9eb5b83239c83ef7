"""What real exporters expose is what the queries ask for, and the answers are the kernel's own."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import node, nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.machine import Machine, Moment
from tests.e2e.exporter.real import RealExporters
from tests.e2e.loop import WINDOW, install, plan, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

ADDRESS = "10.1.0.1"
LINK = 1e6
"""Bits a second of links that report no speed: little, so that little traffic shows."""

MACHINE = f"""
apiVersion: rescheduler.io/v1alpha1
kind: Readings
metadata: {{name: machine}}
spec: {{presets: [node-exporter]}}
---
apiVersion: rescheduler.io/v1alpha1
kind: Health
metadata: {{name: machine-signs}}
spec:
  match: {{all: true}}
  nodes: {{all: true}}
  action: Report
  signs:
    drops: 100%
    retransmits: 100%
    own:
      node.cpu: 100%
      node.cpu.peak: 100%
      node.memory: 100%
      node.memory.peak: 100%
      node.cpu.pressure: 100%
      node.memory.pressure: 100%
      node.io.pressure: 100%
      node.numa.memory: 100%
      node.disk.busy: 100%
      node.disk.space: 100%
      node.load: 1000
  window: {WINDOW}s
  maxAge: 30s
---
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {{name: machine-links}}
spec:
  match: {{all: true}}
  nodes: {{all: true}}
  targets:
    network: {{high: 90%, linkSpeed: 1M}}
  window: {WINDOW}s
  maxAge: 30s
"""
SHARES = """
apiVersion: rescheduler.io/v1alpha1
kind: Readings
metadata: {name: state}
spec:
  readings:
    node.asked:
      value: >-
        sum by (node) (kube_pod_container_resource_requests{$match resource="cpu"})
        or 0 * max by (node) (kube_node_status_allocatable{$match resource="cpu"})
      fresh: min by (node) (timestamp(kube_node_status_allocatable{$match resource="cpu"}))
      unit: cores
      capacity:
        query: max by (node) (kube_node_status_allocatable{$match resource="cpu"})
    pod.asked:
      value: >-
        sum by (node, namespace, pod)
        (kube_pod_container_resource_requests{$match resource="cpu"})
      fresh: >-
        min by (node, namespace, pod)
        (timestamp(kube_pod_container_resource_requests{$match resource="cpu"}))
      unit: cores
---
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: asked}
spec:
  match: {all: true}
  nodes: {all: true}
  targets: {own: {asked: {high: 50%}}}
  window: 10s
  maxAge: 30s
"""


@dataclass
class Real:
    """A cluster whose exporters are real; the program may only report."""

    cluster: Cluster
    exporters: RealExporters
    program: Program


@pytest.fixture
def real(cluster: Cluster, binary: Path, tmp_path: Path) -> Iterator[Real]:
    """Without any node yet."""
    folder = tmp_path / "exporters"
    exporters = RealExporters(folder, cluster.control_plane.exporter_kubeconfig, ADDRESS)
    try:
        kubeconfig = install(cluster, "audit-cronjob", tmp_path)
        yield Real(cluster, exporters, Program(binary, kubeconfig, exporters.prometheus.url))
    finally:
        exporters.stop()


def _checked(program: Program, policies: Path) -> dict[str, dict[str, Any]]:
    """Each reading's answer, by its name."""
    done = program.run("check", policies, "-o", "json")
    assert done.code == 0, done.stderr + done.stdout
    return {reading["name"]: reading for reading in json.loads(done.stdout)["readings"]}


def _within(value: float, low: float, high: float, slack: float) -> bool:
    return low - slack <= value <= high + slack


def test_readings_of_this_machine_are_what_its_kernel_says(real: Real, tmp_path: Path) -> None:
    machine = Machine()
    try:
        real.cluster.create(
            node("machine", cpu=machine.cpus, memory=f"{int(machine.memory)}", address=ADDRESS)
        )
        seen = f"count_over_time(node_time_seconds[{WINDOW}s]) >= {WINDOW - 2}"
        real.exporters.prometheus.wait_for(seen, deadline=120)
        real.exporters.prometheus.wait_for('kube_node_info{node="machine"}', deadline=60)
        # A window before the first reading, and a scrape before that.
        start = time.time() - WINDOW - 3
        told = _checked(real.program, write_policies(tmp_path / "policies", MACHINE, swift()))
    finally:
        machine.stop()
    assert {reading["withValue"] for reading in told.values() if reading["subject"] == "node"} == {
        1
    }
    assert {reading["problem"] for reading in told.values()} == {None}
    values = {
        name: reading["most"] for name, reading in told.items() if reading["subject"] == "node"
    }
    # A busy machine scrapes late, or leaves scrapes out: what Prometheus has spans less then.
    spans = [
        span for seconds in range(WINDOW // 2, WINDOW) for span in machine.spans(start, seconds)
    ]

    busy = [1 - (b.idle - a.idle) / (b.time - a.time) / machine.cpus for a, b in spans]
    assert _within(values["node.cpu"], min(busy), max(busy), 0.05)
    now = machine.since(start)
    used = [1 - moment.memory / machine.memory for moment in now]
    assert _within(values["node.memory"], min(used), max(used), 0.01)
    load = [moment.load for moment in now]
    assert _within(values["node.load"] * machine.cpus, min(load), max(load), 0.05)
    rates = [_fullest_sent(a, b) for a, b in spans]
    assert _within(values["node.network.transmit"], min(rates), max(rates), 0.05 + max(rates) / 10)
    assert 0 <= values["node.numa.memory"] < 1
    (root,) = real.exporters.prometheus.rows('node_filesystem_size_bytes{mountpoint="/"}')
    assert float(root["value"][1]) == shutil.disk_usage("/").total


def _fullest_sent(first: Moment, last: Moment) -> float:
    """Of the interfaces that count, the greatest share of its speed that was sent."""
    shares = [
        (last.sent[name] - first.sent[name]) / (last.time - first.time) / _speed(name)
        for name in first.sent
        if name.startswith(("en", "eth", "bond", "ib")) and name in last.sent
    ]
    return max(shares)


def _speed(link: str) -> float:
    """Bytes a second, as the kernel has them or as the policy says."""
    try:
        megabits = int(Path(f"/sys/class/net/{link}/speed").read_text())
    except OSError:
        megabits = -1
    return megabits * 1e6 / 8 if megabits > 0 else LINK / 8


def test_what_kube_state_metrics_tells_makes_the_plan(real: Real, tmp_path: Path) -> None:
    real.cluster.create(*nodes(3, cpu=8, memory="32Gi"))
    web = deployment("web", 3, cpu=2, memory="1Gi")
    real.cluster.place(web, {"n1": 3})
    asked = 'sum by (node) (kube_pod_container_resource_requests{resource="cpu"}) == 6'
    real.exporters.prometheus.wait_for(asked, deadline=60)
    policies = write_policies(tmp_path / "policies", SHARES, swift())

    told = _checked(real.program, policies)
    assert (told["node.asked"]["most"], told["pod.asked"]["most"]) == (0.75, 2)
    assert (told["pod.asked"]["withValue"], told["pod.asked"]["expected"]) == (3, 3)
    _, report = plan(real.program, policies)
    assert [move["node"] for move in report["moves"]] == ["n1"], "two of three are half the node"

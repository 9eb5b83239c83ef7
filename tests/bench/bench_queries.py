"""What the queries of each document cost a Prometheus: python -m tests.bench.bench_queries

A Prometheus (`prometheus` and `promtool` on PATH) has a sample every 30 seconds of so many nodes,
each with 8 CPUs, 4 links, two NUMA zones, 8 GPUs, and 10 pods of two containers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import requests

from rescheduler.documents.promql import selectors
from rescheduler.policies.own_readings.readings_document import built_in
from rescheduler.sources.prometheus.catalog import fill
from tests.e2e.backends.engines import Engine
from tests.e2e.controlplane.processes import free_ports

STEP, PAST = 30, 900
WINDOW = 300.0
GPUS, PODS = 8, 10
_OF_NODE = (
    "node_time_seconds", "node_context_switches_total", "node_memory_MemAvailable_bytes",
    "node_memory_MemTotal_bytes", "node_netstat_Tcp_RetransSegs", "node_netstat_Tcp_OutSegs",
    "node_pressure_cpu_waiting_seconds_total", "node_pressure_memory_stalled_seconds_total",
    "node_cpu_usage_seconds_total",
)  # fmt: skip
_LINKS = ("eth0", "eth1", "ib0", "ib1")


def labels_of(metric: str, nodes: int) -> Iterator[str]:
    """The labels of each series of a metric."""
    for n in range(nodes):
        node = f'instance="10.{n >> 16}.{n >> 8 & 255}.{n & 255}:9100",job="node-exporter"'
        gpu = f'Hostname="n{n}",job="dcgm",instance="10.9.{n >> 8}.{n & 255}:9400"'
        kubelet = f'node="n{n}",job="kubelet",instance="n{n}:10250"'
        if metric in _OF_NODE:
            yield node
        elif metric == "node_cpu_seconds_total":
            yield from (f'{node},cpu="{c}",mode="idle"' for c in range(8))
        elif metric.startswith("node_network"):
            yield from (f'{node},device="{link}"' for link in _LINKS)
        elif metric.startswith("node_memory_numa"):
            yield from (f'{node},node="{zone}"' for zone in (0, 1))
        elif metric.startswith("node_infiniband"):
            yield f'{node},device="mlx5_0",port="1"'
        elif metric.startswith("DCGM"):
            yield from (
                f'{gpu},gpu="{g}",UUID="GPU-{n}-{g}",exported_namespace="ml",exported_pod="t{n}-{g}"'
                for g in range(GPUS)
            )
        elif metric.startswith("container_network"):
            yield from (
                f'{kubelet},namespace="a",pod="p{n}-{p}",interface="eth0"' for p in range(PODS)
            )
        elif metric.startswith("container_"):
            yield from (
                f'{kubelet},namespace="a",pod="p{n}-{p}",container="{c}"'
                for p in range(PODS)
                for c in ("main", "side")
            )


def write(file: Path, nodes: int, now: int) -> int:
    """The samples of all series as OpenMetrics; how many series there are."""
    queries = [query for readings in built_in() for own in readings.own_readings.values()
               for query in own.queries]  # fmt: skip
    metrics = sorted({one.partition("{")[0] for query in queries for one in selectors(query)})
    count = 0
    with file.open("w") as out:
        for metric in metrics:
            out.write(f"# TYPE {metric} unknown\n")
            for series in labels_of(metric, nodes):
                count += 1
                out.writelines(
                    f"{metric}{{{series}}} {at - now + PAST + count % 97} {at}\n"
                    for at in range(now - PAST, now + 1, STEP)
                )
        out.write("# EOF\n")
    return count


def measure(url: str, now: int) -> None:
    session = requests.Session()
    session.trust_env = False
    for document in built_in():
        templates = dict.fromkeys(
            query for own in document.own_readings.values() for query in own.queries
        )
        took = []
        rows = 0
        for template in templates:
            form = {"query": fill(template, WINDOW, ""), "time": str(now)}
            began = time.monotonic()
            answer = session.post(f"{url}/api/v1/query", data=form, timeout=600)
            answer.raise_for_status()
            took.append((time.monotonic() - began, form["query"]))
            rows += answer.text.count('"metric"')
        slowest = max(took)
        sys.stdout.write(
            f"{document.name}: {len(took)} queries, {rows:,} rows in "
            f"{sum(seconds for seconds, _ in took):.1f} s; the slowest {slowest[0]:.1f} s: "
            f"{slowest[1][:110]}\n"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_queries")
    parser.add_argument("--nodes", type=int, default=5000)
    options = parser.parse_args()
    now = int(time.time())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write(folder / "in.txt", options.nodes, now)
        sys.stdout.write(f"{options.nodes:,} nodes, {count:,} series\n")
        made = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
        subprocess.run([*made, folder / "in.txt", folder / "data"], check=True, capture_output=True)
        (folder / "prometheus.yml").write_text("global: {scrape_interval: 30s}\n")
        (port,) = free_ports(1)
        command = ["prometheus", f"--config.file={folder}/prometheus.yml",
                   f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
                   "--query.timeout=10m"]  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        engine = Engine("prometheus", command, folder, url, "/-/ready")
        try:
            measure(url, now)
        finally:
            engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Exporters as operators run them: of the machine itself, and of a test cluster's API server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import Process, free_ports
from tests.e2e.exporter.prometheus import Prometheus


class RealExporters:
    """node_exporter and kube-state-metrics, and a Prometheus that scrapes them every second.

    The targets' labels are those that kube-prometheus-stack gives them: node_exporter's `instance`
    is the address of its node and no label has the node's name; kube-state-metrics' own labels are
    honored.
    """

    def __init__(self, folder: Path, kubeconfig: Path, address: str) -> None:
        """Start all; address: that of the node which this machine stands for."""
        folder.mkdir(parents=True, exist_ok=True)
        self._stops: list[Callable[[], None]] = []
        machine, state, telemetry = free_ports(3)
        try:
            self._start(
                "node_exporter",
                [f"--web.listen-address=127.0.0.1:{machine}", "--collector.meminfo_numa"],
                folder,
                f"http://127.0.0.1:{machine}/metrics",
            )
            self._start(
                "kube-state-metrics",
                [
                    f"--kubeconfig={kubeconfig}",
                    *("--host=127.0.0.1", f"--port={state}"),
                    *("--telemetry-host=127.0.0.1", f"--telemetry-port={telemetry}"),
                ],
                folder,
                f"http://127.0.0.1:{state}/healthz",
            )
            jobs = (
                _job("node-exporter", machine, {"instance": f"{address}:9100"}),
                _job("kube-state-metrics", state, {"namespace": "monitoring"}),
            )
            self.prometheus = Prometheus(folder, machine, jobs=jobs)
            self._stops.append(self.prometheus.stop)
        except BaseException:
            self.stop()
            raise

    def _start(self, name: str, arguments: list[str], folder: Path, ready: str) -> None:
        process = Process(name, [str(binaries()[name]), *arguments], folder)
        self._stops.append(process.stop)
        process.wait_until(lambda: _answers(ready), 60)

    def stop(self) -> None:
        """End all, the last first."""
        while self._stops:
            self._stops.pop()()


def _job(name: str, port: int, labels: dict[str, str]) -> dict[str, Any]:
    targets = [{"targets": [f"127.0.0.1:{port}"], "labels": labels}]
    return {"job_name": name, "honor_labels": True, "static_configs": targets}


def _answers(url: str) -> bool:
    with requests.Session() as session:
        session.trust_env = False
        try:
            return session.get(url, timeout=2).status_code == 200
        except requests.RequestException:
            return False

"""The metrics side of a test cluster: exporter, Prometheus, and a proxy that spoils answers."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import requests

from tests.e2e.controlplane.processes import Process, free_ports
from tests.e2e.exporter.faults import HEALTHY, Faults
from tests.e2e.exporter.prometheus import Prometheus
from tests.e2e.exporter.proxy import Proxy

_ROOT = Path(__file__).resolve().parents[3]
# Whole answers for every node and pod must have come this often before a rate can be asked for.
_SCRAPES = 3


class Metrics:
    """A running exporter and a Prometheus that scrapes it.

    url: Prometheus itself. proxy: stands in front of it and can spoil its answers (proxy.url).
    exporter_url: the pages, without the job. control_url: the switch for faults.
    """

    def __init__(
        self, folder: Path, kubeconfig: Path, faults: Faults = HEALTHY, interval: int = 1
    ) -> None:
        """Start both below `folder`.

        faults: wrong from the start, before the first scrape. interval: seconds between scrapes.
        """
        folder.mkdir(parents=True, exist_ok=True)
        port, control = free_ports(2)
        self.control_url = f"http://127.0.0.1:{control}"
        self._session = requests.Session()
        self._session.trust_env = False
        command = [
            *(sys.executable, "-m", "tests.e2e.exporter"),
            *("--kubeconfig", str(kubeconfig), "--port", str(port), "--control", str(control)),
            *("--faults", msgspec.json.encode(faults).decode()),
        ]
        self.exporter = Process("exporter", command, folder, folder_of_program=_ROOT)
        self.exporter.wait_until(self._exporter_ready, 30)
        self.exporter_url = f"http://127.0.0.1:{port}/metrics"
        try:
            self.prometheus = Prometheus(folder, port, interval)
        except BaseException:
            self.exporter.stop()
            raise
        self.url = self.prometheus.url
        self.proxy = Proxy(self.url)

    def _exporter_ready(self) -> bool:
        try:
            return self._session.get(f"{self.control_url}/healthz", timeout=2).status_code == 200
        except requests.RequestException:
            return False

    def inject(self, **faults: Any) -> None:
        """Let these faults be in force from now on, and no other; see Faults for the names."""
        body = msgspec.json.encode(msgspec.convert(faults, Faults))
        self._session.put(f"{self.control_url}/faults", data=body, timeout=5).raise_for_status()

    def heal(self) -> None:
        """No faults from now on."""
        self.inject()

    def warm(self, seconds: int, deadline: float = 90) -> None:
        """Wait until every node has samples over a whole window of `seconds` and no pod is younger.

        So `rate(...[<seconds>s])` and `avg_over_time` see nothing but the load of now.
        """
        expected = f"count(kube_node_info) == count(count_over_time(node_time_seconds[{seconds}s])"
        need = max(_SCRAPES, int(seconds * 0.9))
        young = f"(time() - max(kube_pod_start_time)) < {seconds}"
        self.prometheus.wait_for(
            f"({expected} >= {need})) unless on() ({young})", deadline=deadline
        )

    def stop(self) -> None:
        """End all three."""
        self.proxy.stop()
        self.prometheus.stop()
        self.exporter.stop()
        self._session.close()

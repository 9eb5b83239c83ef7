"""A real Prometheus that scrapes the exporter, with a data folder of its own."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.e2e.controlplane.processes import Process, StartError, free_ports
from tests.e2e.exporter.faults import JOBS


class Prometheus:
    """One running server. url: its base address."""

    def __init__(
        self,
        folder: Path,
        exporter_port: int,
        interval: int = 1,
        *,
        binary: Path | None = None,
        labels: Mapping[str, str] | None = None,
        jobs: Sequence[Mapping[str, Any]] = (),
        remote_write: Sequence[Mapping[str, Any]] = (),
        rules: Sequence[Path] = (),
    ) -> None:
        """Start it below `folder`; one scrape job for each exporter, every `interval` seconds.

        binary: another one than the system's. labels: what it adds for those that read it remotely.
        jobs: what it scrapes instead of that exporter's pages. remote_write: where it sends all.
        rules: files of rules that it evaluates.
        """
        binary = binary or installed("prometheus")
        folder.mkdir(parents=True, exist_ok=True)
        self.data = folder / "prometheus"
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        config = folder / "prometheus.yaml"
        scrapes = scrape_config(exporter_port, interval, labels)
        if jobs:
            scrapes["scrape_configs"] = [dict(job) for job in jobs]
        if rules:
            scrapes["rule_files"] = [str(path) for path in rules]
            scrapes["global"]["evaluation_interval"] = f"{interval}s"
        if remote_write:
            scrapes["remote_write"] = [dict(endpoint) for endpoint in remote_write]
        config.write_text(yaml.safe_dump(scrapes))
        command = [
            str(binary),
            f"--config.file={config}",
            f"--storage.tsdb.path={self.data}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        self._session = requests.Session()
        self._session.trust_env = False
        self.process = Process("prometheus", command, folder)
        self.process.wait_until(self._ready, 20)

    def _ready(self) -> bool:
        try:
            return self._session.get(f"{self.url}/-/ready", timeout=2).status_code == 200
        except requests.RequestException:
            return False

    def query(self, promql: str) -> list[tuple[dict[str, str], float]]:
        """An instant query: labels and value of each series."""
        return [(row["metric"], float(row["value"][1])) for row in self.rows(promql)]

    def rows(self, promql: str) -> list[dict[str, Any]]:
        """An instant query as the API answers it; HTTPError where it refuses."""
        answer = self._session.get(f"{self.url}/api/v1/query", params={"query": promql}, timeout=10)
        answer.raise_for_status()
        return list(answer.json()["data"]["result"])

    def rule_groups(self) -> list[dict[str, Any]]:
        """The rules as it evaluates them, with what was wrong."""
        answer = self._session.get(f"{self.url}/api/v1/rules", timeout=10)
        answer.raise_for_status()
        return list(answer.json()["data"]["groups"])

    def value(self, promql: str) -> float | None:
        """The value of the only series, None without one; ValueError where there are more."""
        found = self.query(promql)
        if len(found) > 1:
            raise ValueError(f"{len(found)} series for {promql}")
        return found[0][1] if found else None

    def wait_for(self, promql: str, series: int = 1, deadline: float = 60) -> None:
        """Wait until a query gives at least `series` series, as `rate(...) > 0.9`."""
        limit = time.monotonic() + deadline
        while (found := len(self.query(promql))) < series:
            if time.monotonic() > limit:
                raise TimeoutError(f"{found} of {series} series after {deadline:.0f} s: {promql}")
            time.sleep(0.25)

    def stop(self) -> None:
        """End it."""
        self._session.close()
        self.process.stop()


def installed(name: str) -> Path:
    """The system's binary of that name.

    Raises:
        StartError: there is none.
    """
    binary = shutil.which(name)
    if binary is None:
        raise StartError(
            f"There is no `{name}` on PATH.\n"
            f"Maybe install it: the Debian package is `{name}`, other systems find the "
            "binary at the project's releases."
        )
    return Path(binary)


def scrape_config(
    exporter_port: int, interval: int, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The configuration of a Prometheus, or of what reads the same."""
    times = {"scrape_interval": f"{interval}s", "scrape_timeout": f"{interval}s"}
    return {
        "global": {**times, "external_labels": dict(labels or {})},
        "scrape_configs": [
            {
                "job_name": job,
                "metrics_path": f"/metrics/{job}",
                # The page labels each series' own instance, node and namespace.
                "honor_labels": True,
                "static_configs": [{"targets": [f"127.0.0.1:{exporter_port}"]}],
            }
            for job in JOBS
        ],
    }

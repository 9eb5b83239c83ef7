"""One instance of the program as a service."""

import subprocess
from pathlib import Path

import requests

from tests.e2e.controlplane.processes import free_ports
from tests.e2e.program import Program


class Replica:
    """One replica of the Deployment."""

    def __init__(self, actor: Program, policies: Path, folder: Path, name: str, *more: str) -> None:
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] = actor.start(
            "run",
            *("--every", "3s", "--policies", policies, "--mode", "Enforce"),
            *("--listen", f"127.0.0.1:{port}", *more),
            log=self.log,
        )

    def get(self, path: str, **headers: str) -> requests.Response | None:
        """The answer; headers: with `_` for `-`."""
        shown = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with requests.Session() as session:
                session.trust_env = False
                return session.get(self.url + path, timeout=3, headers=shown)
        except requests.RequestException:
            return None

    def cycles(self) -> float:
        """How many cycles it has finished, by its own metrics."""
        answer = self.get("/metrics")
        if answer is None:
            return 0
        lines = answer.text.splitlines()
        prefix = "rescheduler_cycles_total{"
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(prefix))

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

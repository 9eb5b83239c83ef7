"""Runs that are killed right before their eviction."""

import subprocess
import threading
from pathlib import Path

from tests.e2e.between import Between, Cut, Effect, When
from tests.e2e.builders.cluster import Cluster
from tests.e2e.crashing import end
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import (
    NAMESPACE,
)
from tests.e2e.program import Program


def killed_before_its_eviction(
    cluster: Cluster, metrics: Metrics, actor: Program, policies: Path, folder: Path
) -> None:
    """A run that is killed when the table is written, and its first eviction is not sent."""
    plane = cluster.control_plane
    between = Between(plane.url, plane.layout.authority)
    assert actor.kubeconfig is not None
    kubeconfig = between.kubeconfig(actor.kubeconfig, folder / "between.kubeconfig")
    proxied = Program(actor.binary, kubeconfig, metrics.url)
    started, hit = threading.Event(), threading.Event()
    running: list[subprocess.Popen[bytes]] = []

    def kill(effect: Effect, when: When) -> None:
        if not hit.is_set() and (effect.kind, when) == ("eviction", "before"):
            hit.set()
            started.wait()
            running[0].kill()
            running[0].wait()
        if hit.is_set():
            raise Cut

    between.forget(kill)
    try:
        log = folder / "killed.log"
        arguments = ("--once", "--policies", policies, "--mode", "Enforce")
        running.append(proxied.start("run", *arguments, log=log))
        started.set()
        assert running[0].wait(90) == -9, log.read_text(encoding="utf-8")
    finally:
        if running:
            end(running[0])
        between.stop()
    lease = cluster.api.read("coordination.k8s.io/v1", "Lease", "rescheduler", NAMESPACE)
    cluster.api.patch(lease, {"spec": {"holderIdentity": None}})

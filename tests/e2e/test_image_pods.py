"""The image runs as the rendered pods say: nobody's user, a read-only root, what is mounted."""

import signal
import time
from pathlib import Path

import pytest
import requests

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.audit import Audit
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.image.container import PodContainer, UnpackedImage
from tests.e2e.image.rendered import apply_overlay, files_of, pod_of, pod_of_cronjob
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import (
    ACTING,
    AUDITING,
    AUDITOR,
    USER,
    WINDOW,
    only_evictions_and_own_state,
    swift,
    utilization,
    write_policies,
)

pytestmark = pytest.mark.e2e

HOT = (utilization(gpu="50%"), swift(per_cycle=2, batch=2))


def prepare(cluster: Cluster, metrics: Metrics, folder: Path, overlay: str) -> None:
    metrics.warm(2 * WINDOW)
    policies = files_of(write_policies(folder / "policies", *HOT))
    apply_overlay(cluster, overlay, policies, {"RESCHEDULER_PROMETHEUS_URL": metrics.url})


def test_the_audit_pod_reports_and_evicts_nothing(
    cluster: Cluster, metrics: Metrics, audit: Audit, image: UnpackedImage, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=20, hot=2)
    prepare(cluster, metrics, tmp_path, "audit-cronjob")
    mark = audit.mark()
    pod = pod_of_cronjob(cluster, AUDITING)
    code, said = PodContainer(cluster.api, pod, image, tmp_path / "pod").run()
    assert code == 0, said
    assert "2 moves" in said
    records = audit.since(mark)
    assert records.reads(by=AUDITOR)
    assert not [write for write in records.writes(by=AUDITOR) if write.resource.startswith("pods")]


def test_the_enforce_pod_evicts_what_it_planned(
    cluster: Cluster, metrics: Metrics, audit: Audit, image: UnpackedImage, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=20, hot=2)
    prepare(cluster, metrics, tmp_path, "enforce-cronjob")
    mark = audit.mark()
    pod = pod_of_cronjob(cluster, ACTING)
    code, said = PodContainer(cluster.api, pod, image, tmp_path / "pod").run()
    assert code == 0, said
    records = audit.since(mark)
    only_evictions_and_own_state(records)
    evictions = [write for write in records.writes(by=USER) if write.resource == "pods/eviction"]
    assert len(evictions) == 2, said


def test_the_deployments_pod_answers_its_probes_and_ends_in_order(
    cluster: Cluster, metrics: Metrics, image: UnpackedImage, tmp_path: Path
) -> None:
    scenario = hot_gpus(cluster, count=20, hot=2)
    prepare(cluster, metrics, tmp_path, "enforce-deployment")
    before = sum(scenario.load(cluster).values())
    pod = pod_of(cluster, "rescheduler", ACTING)
    container = PodContainer(cluster.api, pod, image, tmp_path / "pod")
    process = container.start()
    try:
        for name in ("livenessProbe", "readinessProbe"):
            until_it_answers(cluster, container, name)
        cluster.until(lambda: sum(scenario.load(cluster).values()) < before, "a move", 90)
    finally:
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        code = process.wait(60)
    assert code == 0, container.log.read_text()
    assert time.monotonic() - began < pod["spec"]["terminationGracePeriodSeconds"]


def until_it_answers(cluster: Cluster, container: PodContainer, probe: str) -> None:
    (port,) = container.ports.values()
    url = f"http://127.0.0.1:{port}{container.described[probe]['httpGet']['path']}"
    cluster.until(lambda: answers(url), f"{url}: {container.log}", 90)


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=3, proxies={"http": ""}).status_code == 200
    except requests.RequestException:
        return False

"""Fixtures of the end-to-end suite: one control plane for all tests, a clean cluster for each."""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from kubernetes.client import ApiClient, Configuration

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.audit import Audit
from tests.e2e.controlplane.cleaning import Cleaner
from tests.e2e.controlplane.kubeconfig import connect
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.crashing import Crashes, behind_a_proxy
from tests.e2e.exporter.faults import HEALTHY, Faults
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.full_cluster import full_cluster, steered_policies
from tests.e2e.image.archive import ImageArchive
from tests.e2e.image.built import image_archive
from tests.e2e.image.container import UnpackedImage
from tests.e2e.load_scenarios import zone_outage
from tests.e2e.loop import install
from tests.e2e.program import Program, install_program
from tests.e2e.steering import install_policy

WRITTEN = (("v1", "ConfigMap"), ("events.k8s.io/v1", "Event"), ("coordination.k8s.io/v1", "Lease"))
"""API version and kind of all that the program writes."""

KEPT = Path(__file__).parent / "controlplane" / "kept-policy.yaml"

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember for the whole session whether something failed, so that logs are kept."""
    report = yield
    if report.failed:
        item.session.stash[_failed] = True
    return report


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A running control plane, see ControlPlane; its logs are kept where a test failed."""
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-e2e-"))
    plane = ControlPlane(folder)
    try:
        yield plane
    finally:
        plane.stop()
        if request.session.stash.get(_failed, False):
            sys.stderr.write(f"\nlogs of the control plane: {plane.logs}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def audit(control_plane: ControlPlane) -> Audit:
    """Who read and who wrote what: `audit.mark()`, act, `audit.since(mark).writes(by=...)`."""
    return control_plane.audit


@pytest.fixture(scope="session")
def cleaner(control_plane: ControlPlane) -> Cleaner:
    """Knows the empty control plane, and makes it so again.

    A policy with a ConfigMap as parameter is there before all others and stays: an API server that
    has seen the last one go reads such parameters no more.
    """
    apply_manifests(control_plane.api, [KEPT])
    return Cleaner(control_plane)


@pytest.fixture
def start_metrics(
    control_plane: ControlPlane, cluster: Cluster, tmp_path: Path
) -> Iterator[Callable[..., Metrics]]:
    """`start_metrics(faults=Faults(...), interval=1)` starts Metrics for this test's cluster."""
    started: list[Metrics] = []

    def start(faults: Faults = HEALTHY, interval: int = 1) -> Metrics:
        folder = tmp_path / f"metrics-{len(started)}"
        metrics = Metrics(folder, control_plane.exporter_kubeconfig, faults, interval)
        started.append(metrics)
        return metrics

    yield start
    for metrics in started:
        metrics.stop()


@pytest.fixture
def metrics(start_metrics: Callable[..., Metrics]) -> Metrics:
    """A healthy exporter and a fresh Prometheus that scrapes it every second, see Metrics."""
    return start_metrics()


@pytest.fixture
def cluster(control_plane: ControlPlane, cleaner: Cleaner, tmp_path: Path) -> Iterator[Cluster]:
    """An empty cluster; what a failed test left stays for inspection until the next test.

    In the end neither output, nor files, nor what is in the cluster holds a token of the program.
    """
    cleaner.clean()
    Program.said.clear()
    made = Cluster(control_plane)
    yield made
    leaked = list(_leaks(made, tmp_path))
    assert not leaked


@pytest.fixture
def client(cluster: Cluster) -> Iterator[ApiClient]:
    """The client that the program uses, with the rights of an administrator."""
    configuration = Configuration(host=cluster.api.server)
    configuration.ssl_ca_cert = str(cluster.api.authority)
    configuration.api_key = {"BearerToken": f"Bearer {cluster.api.token}"}
    with ApiClient(configuration) as made:
        yield made


def _leaks(cluster: Cluster, folder: Path) -> Iterator[str]:
    """Where a token shows. Of a signed one the signature is looked for, which nothing else has."""
    kubeconfigs = cluster.control_plane.layout.root.glob("*.kubeconfig")
    secrets = {connect(path).token.rpartition(".")[2].encode() for path in kubeconfigs}
    assert secrets
    texts = {f"output {n}": text.encode() for n, text in enumerate(Program.said)}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and not path.name.endswith("kubeconfig"):
            texts[str(path)] = path.read_bytes()
    for kind in WRITTEN:
        texts[kind[1]] = json.dumps(cluster.api.items(*kind)).encode()
    for where, text in texts.items():
        if any(secret in text for secret in secrets):
            yield where


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, installed from the wheel of this tree."""
    return install_program(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def reporter(binary: Path, cluster: Cluster, metrics: Metrics, tmp_path: Path) -> Program:
    """The program with the rights of reporting only."""
    return Program(binary, install(cluster, "audit-cronjob", tmp_path), metrics.url)


@pytest.fixture
def actor(binary: Path, cluster: Cluster, metrics: Metrics, tmp_path: Path) -> Program:
    """The program with the rights of acting."""
    return Program(binary, install(cluster, "enforce-cronjob", tmp_path), metrics.url)


@pytest.fixture
def crashes(cluster: Cluster, actor: Program, tmp_path: Path) -> Iterator[Crashes]:
    """The program behind a proxy that can kill it, where 16 workloads of 6 pods want to spread."""
    zone_outage(cluster, workloads=16)
    with behind_a_proxy(cluster, actor, tmp_path) as made:
        yield made


@pytest.fixture
def chained(cluster: Cluster, actor: Program, tmp_path: Path) -> Iterator[Crashes]:
    """The same on a full cluster, where only swaps and chains repair what is wrong."""
    full_cluster(cluster)
    install_policy(cluster)
    with behind_a_proxy(cluster, actor, tmp_path) as made:
        made.policies = steered_policies(tmp_path / "chains")
        yield made


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> UnpackedImage:
    """The image of this tree, built where it is not in the cache, and unpacked."""
    archive = ImageArchive(image_archive()[0])
    return UnpackedImage(archive, archive.unpack(tmp_path_factory.mktemp("image")))

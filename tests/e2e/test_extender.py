"""The real kube-scheduler asks our extender: its scores, its filter, its pace."""

import re
import shutil
import socket
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.actions.steering.extender_lease import LAST_REQUEST, NAME, VERSION
from rescheduler.actions.steering.steering_format import encode_entries
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import node
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.controlplane.processes import free_ports
from tests.e2e.controlplane.programs import Layout
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.exporter.faults import HEALTHY
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.landing.score_log import OPTIONS
from tests.e2e.load_scenarios import unwanted_calm
from tests.e2e.loop import (
    NAMESPACE,
    SPREAD,
    WINDOW,
    Loop,
    install,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import ROOT, Program
from tests.e2e.steering import entries, entry_of

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "deploy" / "kustomize" / "steering-extender" / "kube-scheduler.example.yaml"
KUSTOMIZE = ROOT / "deploy" / "kustomize"
STEERED = "  steering: {by: Extender}\n"
SPREAD_NOTHING = SPREAD.replace("zones", "nothing").replace("[default]", "[nowhere]")
"""For an extender that answers by the table alone."""
EXTENDED = re.compile(r'"Extender scored node for pod" pod="([^"]+)".* node="([^"]+)" score=(\d+)')
PLUGIN = re.compile(
    r'"Plugin scored node for pod" pod="([^"]+)" plugin="[^"]+" node="([^"]+)" score=(-?\d+)'
)
TOTAL = re.compile(
    r'"Calculated node\'s final score for pod" pod="([^"]+)" node="([^"]+)" score=(-?\d+)'
)


class Extended:
    """A control plane whose scheduler asks an extender, which is started beside it."""

    def __init__(self, folder: Path, binary: Path) -> None:
        (self.port,) = free_ports(1)
        self.plane = ControlPlane(folder, self._options, audited=False)
        self.cluster = Cluster(self.plane)
        self._folder, self._binary = folder, binary

    def _options(self, layout: Layout) -> list[str]:
        configuration = configured(f"http://127.0.0.1:{self.port}")
        kubeconfig = str(layout.kubeconfig("system-kube-scheduler"))
        configuration["clientConnection"] = {"kubeconfig": kubeconfig, "qps": 1000, "burst": 2000}
        configuration["leaderElection"] = {"leaderElect": False}
        path = layout.root / "extended.yaml"
        path.write_text(yaml.safe_dump(configuration))
        return [f"--config={path}", *OPTIONS]

    def start(self, *policies: str) -> Any:
        program = Program(self._binary, self.plane.kubeconfig)
        self.said = self._folder / "extender.log"
        folder = write_policies(self._folder / "policies", *policies)
        arguments = ("--listen", f"127.0.0.1:{self.port}", "--every", "2s", "--log-format", "json")
        return program.start("extender", "-p", folder, *arguments, log=self.said)

    def answers(self) -> bool:
        """Whether the extender can be asked."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=2).close()
        except OSError:
            return False
        return True

    def refreshed(self) -> None:
        """Wait until the extender has read the cluster as it is now."""
        before = self.said.read_text().count('"refreshed"')
        self.cluster.until(
            lambda: self.said.read_text().count('"refreshed"') >= before + 2, "the extender", 180
        )

    def log(self) -> str:
        return (self.plane.logs / "kube-scheduler.log").read_text(errors="replace")


@pytest.fixture
def extended(binary: Path) -> Iterator[Extended]:
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-extender-"))
    made = Extended(folder, binary)
    try:
        yield made
    finally:
        made.plane.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_the_scheduler_places_pods_as_policies_and_the_table_say(extended: Extended) -> None:
    cluster = extended.cluster
    # Without an extender there to be asked, pods are placed all the same: it is ignorable.
    cluster.create(
        *(node(f"n{number}", zone="abc"[number % 3], cpu=8 * (1 + number)) for number in range(6))
    )
    cluster.create(deployment("early", 2))
    cluster.settled()
    process = extended.start(SPREAD)
    try:
        cluster.namespace(NAMESPACE)
        cluster.place(deployment("web", 6), {"n0": 3, "n1": 3})
        extended.refreshed()

        # Zones a and b are full of it: what comes next goes to zone c, whatever the room.
        scaled = cluster.api.read("apps/v1", "Deployment", "web")
        cluster.api.patch(scaled, {"spec": {"replicas": 8}})
        cluster.settled()
        there = cluster.placement("web")
        assert there["n2"] + there["n5"] == 2, there

        # The table names two nodes for one replacement of another, and nobody else may go there.
        cluster.place(deployment("moved", 2, cpu="200m"), {"n0": 2})
        extended.refreshed()
        old = cluster.pods("moved")
        steered = [entry_of(old[0], "n3", "n4")]
        metadata = {"name": "rescheduler-steering", "namespace": NAMESPACE}
        table = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        cluster.api.apply({**table, "data": encode_entries(steered)})
        time.sleep(0.5)
        assert cluster.api.evict(old[0]) == 201
        cluster.settled()
        moved = cluster.placement("moved")
        assert moved["n3"] + moved["n4"] == 1, moved

        # Its score arithmetic, against the scheduler's own log: score x weight 2 x 100/10.
        log = extended.log()
        sums: dict[tuple[str, str], int] = defaultdict(int)
        asked = 0
        for found in PLUGIN.finditer(log):
            sums[found[1], found[2]] += int(found[3])
        for found in EXTENDED.finditer(log):
            assert 0 <= int(found[3]) <= 10
            sums[found[1], found[2]] += int(found[3]) * 20
            asked += int(found[3]) > 0
        totals = {(found[1], found[2]): int(found[3]) for found in TOTAL.finditer(log)}
        assert asked
        assert totals
        assert {total: sums[total] for total in totals} == totals

        # Many at once are no trouble: 250 within 15 s on a quiet machine.
        cluster.create(deployment("many", 250, cpu="1m", memory="1Mi"))
        cluster.until(
            lambda: sum(Counter(cluster.placement("many")).values()) == 250, "250 pods", 120
        )
    finally:
        process.terminate()
        assert process.wait(15) == 0


def configured(url: str) -> Any:
    """The example, for an extender on this machine alone, which asks for no certificate."""
    configuration = yaml.safe_load(EXAMPLE.read_text())
    extender = configuration["extenders"][0]
    del extender["enableHTTPS"], extender["tlsConfig"]
    extender["urlPrefix"] = url
    return configuration


def scheduler(port: int) -> str:
    """The document that declares what the scheduler of `Extended` is configured with."""
    url = f"http://127.0.0.1:{port}"
    spec = {"configuration": configured(url), "harmlessExtenders": [url]}
    document = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "Scheduler"}
    return yaml.safe_dump({**document, "metadata": {"name": "own"}, "spec": spec})


def install_extender(extended: Extended, folder: Path) -> None:
    """The component's objects, but not what runs: that is beside the control plane here."""
    text = (KUSTOMIZE / "steering-extender" / "server.yaml").read_text()
    kinds = {"Lease", "Role", "RoleBinding"}
    kept = [yaml_object for yaml_object in yaml.safe_load_all(text) if yaml_object["kind"] in kinds]
    folder.mkdir()
    (folder / "access.yaml").write_text(yaml.safe_dump_all(kept))
    apply_manifests(extended.cluster.api, [KUSTOMIZE / "steering-table", folder])


def test_hot_nodes_that_the_scheduler_likes_best(
    extended: Extended, binary: Path, tmp_path: Path
) -> None:
    """Unsteered, every pod would come back to one of them."""
    cluster = extended.cluster
    scenario = unwanted_calm(cluster)
    kubeconfig = install(cluster, "enforce-cronjob", tmp_path)
    install_extender(extended, tmp_path / "component")
    metrics = Metrics(tmp_path / "metrics", extended.plane.exporter_kubeconfig, HEALTHY, 1)
    try:
        metrics.warm(2 * WINDOW)
        texts = (utilization(gpu="50%"), swift() + STEERED, scheduler(extended.port))
        policies = write_policies(tmp_path / "policies", *texts)
        acting = Program(binary, kubeconfig, metrics.url)

        # While nothing shows that it is asked, nothing is steered, and so nothing moves.
        early = Loop(acting, policies).once(code=None)
        assert "STR001" in {note["code"] for note in early["notes"]}
        assert not early["moves"]

        process = extended.start(SPREAD_NOTHING)
        try:
            cluster.until(extended.answers, "the extender to answer", 120)
            # Without data it knows no node of the cluster, and so nobody who asks about them.
            cluster.until(lambda: '"refreshed"' in extended.said.read_text(), "its data", 180)
            cluster.create(deployment("asked", 1, cpu="10m"))
            cluster.until(lambda: LAST_REQUEST in shown(extended), "the extender to be asked", 90)
            loop = Loop(acting, policies)
            moves = loop.until_content()
            cluster.settled(deadline=120)
        finally:
            process.terminate()
            assert process.wait(15) == 0
        assert len(moves) == 15
        for move in moves:
            assert move["steered"]["by"] == "Extender"
            assert move["landedOn"] in move["steered"]["nodes"], move
            assert move["landedOn"] not in scenario.hot, move
        assert not {name: load for name, load in scenario.load(cluster).items() if load > 0.5}
        assert entries(cluster) == []
        assert shown(extended)[VERSION]
    finally:
        metrics.stop()


def shown(extended: Extended) -> dict[str, str]:
    lease = extended.cluster.api.read("coordination.k8s.io/v1", "Lease", NAME, NAMESPACE)
    return dict(lease["metadata"].get("annotations") or {})

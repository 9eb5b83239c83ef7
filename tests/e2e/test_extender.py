"""The real kube-scheduler asks our extender: its scores, its filter, its pace."""

import re
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.actions.steering_format import written
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import node
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.processes import free_ports
from tests.e2e.controlplane.programs import Layout
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.landing.score_log import OPTIONS
from tests.e2e.loop import NAMESPACE, SPREAD, write_policies
from tests.e2e.program import ROOT, Program
from tests.e2e.steering import intent_of

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "deploy" / "kustomize" / "steering-extender" / "kube-scheduler.example.yaml"
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
        configuration = yaml.safe_load(EXAMPLE.read_text())
        configuration["extenders"][0]["urlPrefix"] = f"http://127.0.0.1:{self.port}"
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

    def refreshed(self) -> None:
        """Wait until the extender has read the cluster as it is now."""
        before = self.said.read_text().count('"refreshed"')
        self.cluster.until(
            lambda: self.said.read_text().count('"refreshed"') >= before + 2, "the extender"
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
        *(node(f"n{each}", zone="abc"[each % 3], cpu=8 * (1 + each)) for each in range(6))
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
        intents = [intent_of(old[0], "n3", "n4")]
        metadata = {"name": "rescheduler-steering", "namespace": NAMESPACE}
        table = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        cluster.api.apply({**table, "data": written(intents)})
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
        assert {each: sums[each] for each in totals} == totals

        # A thousand pods a minute.
        began = time.monotonic()
        cluster.create(deployment("many", 250, cpu="1m", memory="1Mi"))
        cluster.until(
            lambda: sum(Counter(cluster.placement("many")).values()) == 250, "250 pods", deadline=15
        )
        assert time.monotonic() - began < 15
    finally:
        process.terminate()
        assert process.wait(15) == 0

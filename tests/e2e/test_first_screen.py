"""What a newcomer's first command says of five clusters: is it well, what is wrong, what to do."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import unwanted_calm
from tests.e2e.loop import WINDOW, Loop, swift, utilization, write_policies
from tests.e2e.program import ROOT, Program

pytestmark = pytest.mark.e2e

SHIPPED = ("conformity", "limits", "readings", "scheduler", "spread", "utilization")
SCREEN = 40
"""Lines that a person sees without scrolling."""


def screen(program: Program, *more: str | Path, code: int = 0) -> str:
    """The first screen of a plan, each run of white space as one space."""
    done = program.run("plan", *more)
    assert done.code == code, f"{done.stderr}\n{done.stdout}"
    return " ".join(" ".join(done.stdout.splitlines()[:SCREEN]).split())


def shipped_policies(folder: Path) -> Path:
    """Those that come with the program, over so short a time as a test can wait."""
    texts = ((ROOT / "policies" / f"{name}.yaml").read_text(encoding="utf-8") for name in SHIPPED)
    swifter = (
        text.replace("window: 5m", f"window: {WINDOW}s").replace("maxAge: 3m", "maxAge: 15s")
        for text in texts
    )
    return write_policies(folder, *swifter)


def test_a_calm_cluster(cluster: Cluster, actor: Program, metrics: Metrics, tmp_path: Path) -> None:
    cluster.create(*nodes(6, cpu=16, memory="64Gi", zones=["a", "b", "c"]))
    names = [f"n{number}" for number in range(1, 7)]
    web = deployment("web", 6, cpu=2, memory="8Gi", load=Load(cpu=1.0, memory=4 << 30))
    cluster.arrange([(web, names)], deadline=120)
    metrics.warm(2 * WINDOW)
    policies = shipped_policies(tmp_path / "shipped")
    kubeconfig = cluster.control_plane.kubeconfig
    laptop = Program(actor.binary, kubeconfig, metrics.url)
    person = Program(actor.binary, kubeconfig)

    healthy = screen(laptop, "-p", policies)
    assert "HEALTHY 3 policies find nothing wrong." in healthy
    assert "Not judged: hot-gpus (this cluster has nothing that it judges)." in healthy
    assert "Nothing to do: nothing is wrong." in healthy
    assert "What would help most" not in healthy

    down = screen(Program(actor.binary, kubeconfig, "http://127.0.0.1:1"), "-p", policies, code=1)
    assert "NOT JUDGED 2 policies find nothing wrong." in down
    assert "PROBLEM RDG001 Policies hot-gpus and hot-nodes were not evaluated" in down
    assert down.count("Advice: Check the address, the credentials and the network.") == 1
    assert down.count("it cannot be reached") == 3, "as answer, as problem, and as what to mend"

    wrong = utilization(cpu="80%").replace("{all: true}", "{labels: {matchLabels: {app: wbe}}}", 1)
    unselected = screen(laptop, "-p", write_policies(tmp_path / "wrong", wrong))
    assert "NOT JUDGED the policy judges nothing here" in unselected
    assert "wbe" in unselected, unselected
    assert "Correct policy hot" in unselected

    Loop(Program(actor.binary, actor.kubeconfig, metrics.url), policies).once(code=None)
    assert person.run("pause", "--yes").code == 0
    paused = screen(laptop, "-p", policies)
    assert "GRD006" in paused
    assert "paused" in paused
    assert "paused by people" in person.run("status").stdout
    assert person.run("resume", "--yes").code == 0
    assert "GRD006" not in screen(laptop, "-p", policies)


def test_a_hot_cluster_whose_pods_would_come_back(
    cluster: Cluster, actor: Program, metrics: Metrics, tmp_path: Path
) -> None:
    unwanted_calm(cluster)
    metrics.warm(2 * WINDOW)
    laptop = Program(actor.binary, cluster.control_plane.kubeconfig, metrics.url)
    policies = write_policies(tmp_path / "policies", utilization(gpu="80%"), swift())
    hot = screen(laptop, "-p", policies)
    assert "POWERLESS 5 hot nodes" in hot
    assert "1. Turn on steering" in hot

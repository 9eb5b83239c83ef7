"""Metric back ends that take long to build: `make e2e-backends`."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.backends.engines import TENANT, Mimir, VictoriaCluster, victoria_metrics
from tests.e2e.backends.planning import asker
from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import WINDOW, Loop, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

LASTING = 40
"""Seconds for which nodes must be hot."""


def test_victoria_metrics_gives_the_same_plan_and_moved_pods_silence_none(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """It answers from a cache that lacks half a minute, unless it is told not to."""
    port = int(metrics.exporter_url.split(":")[2].split("/")[0])
    victoria = victoria_metrics(tmp_path / "victoria-metrics", port)
    try:
        hot_gpus(cluster, count=12, hot=2)
        # Of ranges it gives nothing that is younger than half a minute, which no past of ours is.
        metrics.warm(2 * LASTING + WINDOW, deadline=180)
        text = utilization(gpu="50%") + f"  stableFor: {LASTING}s\n"
        policies = write_policies(tmp_path / "policies", text, swift())
        ask = asker(actor, policies)
        wanted = ask(metrics.url)
        assert wanted[0]
        assert ask(victoria.url) == wanted

        loop = Loop(replace(actor, prometheus=victoria.url), policies)
        report = loop.once(code=None)
        refused = {each["code"] for each in report["moves"] if each["result"] == "refused"}
        assert refused <= {"DRF004"}, "an earlier move landed on another of equally likely nodes"
        assert loop.codes == [3 if refused else 0]
        assert loop.evicted()
        cluster.settled()
        assert ask(victoria.url)[1] == set()
    finally:
        victoria.stop()


def test_a_victoria_metrics_cluster_that_lost_a_store_gives_no_plan(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    port = int(metrics.exporter_url.split(":")[2].split("/")[0])
    stores = VictoriaCluster(tmp_path / "victoria-cluster", port)
    try:
        hot_gpus(cluster, count=12, hot=2)
        metrics.warm(2 * LASTING + WINDOW, deadline=300)
        text = utilization(gpu="50%") + f"  stableFor: {LASTING}s\n"
        ask = asker(actor, write_policies(tmp_path / "policies", text, swift()))
        wanted = ask(metrics.url)
        assert wanted[0]
        assert wanted[1] == set()
        assert ask(stores.url) == wanted

        stores.lose_a_store()
        assert ask(stores.url) == ([], {"RDG002"}), "it answers, and says that this is not all"
    finally:
        stores.stop()


def test_mimir_gives_each_tenant_the_plan_of_its_own_series(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    port = int(metrics.exporter_url.split(":")[2].split("/")[0])
    mimir = Mimir(tmp_path / "mimir", port)
    try:
        hot_gpus(cluster, count=12, hot=2)
        metrics.warm(3 * WINDOW, deadline=300)
        text = utilization(gpu="50%", cpu="90%") + f"  stableFor: {WINDOW}s\n"
        ask = asker(actor, write_policies(tmp_path / "policies", text, swift()))
        wanted = ask(metrics.url)
        assert wanted[0]
        assert wanted[1] == set()

        def as_tenant(name: str) -> tuple[str, str]:
            file = tmp_path / name
            file.write_text(name)
            return "--prometheus-header", f"{TENANT}=@{file}"

        assert ask(mimir.url, *as_tenant("team-a")) == wanted
        assert ask(mimir.url, *as_tenant("team-b")) == ([], {"RDG009"}), "it has no series"
        assert ask(mimir.url) == ([], {"RDG001"}), "Mimir wants to know the tenant"
    finally:
        mimir.stop()

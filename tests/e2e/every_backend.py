"""Metric back ends that take long to build: `make e2e-backends`."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.backends.engines import TENANT, Mimir, VictoriaCluster, victoria_metrics
from tests.e2e.backends.planning import asker, problems
from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import WINDOW, Loop, plan, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

LASTING = 40
"""Seconds for which nodes must be hot."""


def lasting_heat(cluster: Cluster, metrics: Metrics, folder: Path) -> Path:
    """Nodes that have been hot for as long as the policies ask for; the folder of the policies."""
    hot_gpus(cluster, count=12, hot=2)
    # Of ranges VictoriaMetrics gives nothing that is younger than half a minute, which no past of
    # ours is.
    metrics.warm(2 * LASTING + WINDOW, deadline=300)
    text = utilization(gpu="50%") + f"  stableFor: {LASTING}s\n"
    return write_policies(folder / "policies", text, swift())


def until_none_is_silent(cluster: Cluster, program: Program, policies: Path) -> None:
    """Wait for the values of the new pods; meanwhile the series of the old ones silence nothing.

    VictoriaMetrics shows a new series some seconds after it scraped it, Prometheus at once.
    """

    def answered() -> bool:
        _, report = plan(program, policies)
        assert problems(report) <= {"RDG003"}, report["readings"]
        assert "several series that differ" not in str(report["readings"]), (
            "ended series are taken for others"
        )
        return not problems(report)

    cluster.until(answered, "a value of every pod", deadline=90)


def test_victoria_metrics_gives_the_same_plan_and_moved_pods_silence_none(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """It answers from a cache that lacks half a minute, unless it is told not to."""
    port = int(metrics.exporter_url.split(":")[2].split("/")[0])
    victoria = victoria_metrics(tmp_path / "victoria-metrics", port)
    try:
        policies = lasting_heat(cluster, metrics, tmp_path)
        ask = asker(actor, policies)
        wanted = ask(metrics.url)
        assert wanted[0]
        assert ask(victoria.url) == wanted

        loop = Loop(replace(actor, prometheus=victoria.url), policies)
        report = loop.once(code=None)
        refused = {move["code"] for move in report["moves"] if move["result"] == "refused"}
        assert refused <= {"DRF004"}, "an earlier move landed on another of equally likely nodes"
        assert loop.codes == [3 if refused else 0]
        assert loop.evicted()
        cluster.settled()
        until_none_is_silent(cluster, replace(actor, prometheus=victoria.url), policies)
    finally:
        victoria.stop()


def test_a_victoria_metrics_cluster_that_lost_a_store_gives_no_plan(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    port = int(metrics.exporter_url.split(":")[2].split("/")[0])
    stores = VictoriaCluster(tmp_path / "victoria-cluster", port)
    try:
        ask = asker(actor, lasting_heat(cluster, metrics, tmp_path))
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

"""The same cluster gives the same plan, whichever metric back end has its series."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.backends.engines import Thanos, prometheus3
from tests.e2e.backends.planning import asker
from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.exporter.prometheus import Prometheus
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import WINDOW, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

LASTING = f"  stableFor: {WINDOW}s\n"


@pytest.fixture
def engines(metrics: Metrics, tmp_path: Path) -> Iterator[tuple[Prometheus, Thanos]]:
    """Prometheus 3 and Thanos, which read the exporter that the system's Prometheus reads."""
    port = int(metrics.exporter_url.split(":")[2].split("/")[0])
    newest = prometheus3(tmp_path / "prometheus3", port)
    try:
        thanos = Thanos(tmp_path / "thanos", port)
        yield newest, thanos
        thanos.stop()
    finally:
        newest.stop()


def test_prometheus_2_and_3_and_thanos_give_the_same_whole_plan(
    cluster: Cluster, metrics: Metrics, engines: Any, actor: Program, tmp_path: Path
) -> None:
    newest, thanos = engines
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(3 * WINDOW)
    text = utilization(gpu="50%", cpu="90%") + LASTING
    ask = asker(actor, write_policies(tmp_path / "policies", text, swift()))

    wanted = ask(metrics.url)
    assert wanted[0]
    assert wanted[1] == set()
    assert ask(newest.url) == wanted
    assert ask(thanos.deduplicated.url) == wanted
    assert ask(thanos.frontend.url) == wanted, "though it moves the instants of the past"

    assert ask(thanos.of_two_clusters.url) == ([], {"RDG020"})
    one = 'cluster="us-1"'
    assert ask(thanos.of_two_clusters.url, "--prometheus-selector", one) == wanted

    thanos.lose_a_replica()
    for half_dead in (thanos.deduplicated, thanos.frontend):
        assert ask(half_dead.url) == ([], {"RDG002"})

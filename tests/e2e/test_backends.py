"""The same cluster gives the same plan, whichever metric back end has its series."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.backends.engines import Thanos, prometheus3
from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.exporter.prometheus import Prometheus
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import WINDOW, plan, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

LASTING = f"  stableFor: {WINDOW}s\n"
Plan = tuple[list[tuple[str, str]], set[str]]
"""The moves, as pod and node, and the codes of what held policies back."""


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


def asker(program: Program, policies: Path) -> Callable[..., Plan]:
    """What makes a plan from the series of the engine at an address."""

    def ask(url: str, *options: str) -> Plan:
        _, report = plan(replace(program, prometheus=url), policies, *options)
        return moves(report), problems(report)

    return ask


def moves(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["pod"], each["node"]) for each in report["moves"]]


def problems(report: dict[str, Any]) -> set[str]:
    return {each["problem"]["code"] for each in report["policies"] if each["problem"]}


def test_prometheus_2_and_3_and_thanos_give_the_same_plan_and_no_half_of_one(
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

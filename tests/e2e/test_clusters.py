"""Which clusters a metric source has, as a real Prometheus answers the question."""

import time
from collections.abc import Iterator

import pytest

from rescheduler.model.problem import Problem
from rescheduler.sources.prometheus.catalog import fill
from rescheduler.sources.prometheus.clusters import QUESTION, several_in, unsure_in
from rescheduler.sources.prometheus.prometheus import Prometheus as Asked
from tests.e2e.exporter.prometheus import Prometheus
from tests.sources.server import Reply, serving

pytestmark = pytest.mark.e2e

NODE, STATE, GPU = "node_time_seconds", "kube_node_info", "DCGM_FI_DEV_FB_FREE"
SOURCES: dict[str, tuple[list[tuple[str, str]], str]] = {
    # The series of a source, metric and cluster of each; the clusters that are told of.
    "none": ([], ""),
    "unlabelled": ([(NODE, ""), (STATE, ""), (GPU, "")], ""),
    "one": ([(NODE, "x"), (STATE, "x"), (GPU, "x")], ""),
    # Each metric has one collector, which may give a label or none.
    "mixed": ([(NODE, ""), (STATE, "x")], ""),
    "two": ([(STATE, "x"), (STATE, "y")], '"x", "y"'),
    # y has no node_exporter, but nodes whose names may be those of x.
    "second-metric": ([(NODE, "x"), (STATE, "x"), (STATE, "y")], '"x", "y"'),
    "third-metric": ([(NODE, "x"), (STATE, "x"), (GPU, "x"), (GPU, "y")], '"x", "y"'),
    "one-unlabelled": ([(NODE, ""), (STATE, "x"), (STATE, "")], '"", "x"'),
}


def page() -> str:
    """What is scraped: of every source two nodes for each series."""
    return "".join(
        f'{metric}{{source="{source}",cluster="{cluster}",instance="{node}"}} 1\n'
        for source, (series, _) in SOURCES.items()
        for metric, cluster in series
        for node in ("n1", "n2")
    )


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server that has scraped the page."""
    plain = {"Content-Type": "text/plain; version=0.0.4"}
    with serving(lambda _: Reply(page().encode(), headers=plain)) as served:
        job = {
            "job_name": "all",
            "honor_labels": True,
            "static_configs": [{"targets": [served.url.removeprefix("http://")]}],
        }
        server = Prometheus(tmp_path_factory.mktemp("clusters"), 0, jobs=[job])
        try:
            server.wait_for('{source!=""}', series=page().count("\n"))
            yield server
        finally:
            server.stop()


@pytest.mark.parametrize("source", SOURCES)
def test_every_cluster_that_a_source_has_is_seen(prometheus: Prometheus, source: str) -> None:
    asked = Asked(prometheus.url)
    question = fill(QUESTION, 0, f'source="{source}",')
    answer = asked.query(question, None, time.monotonic() + 10)
    asked.close()
    series, told = SOURCES[source]
    assert len(answer.samples) == len(series) + 1, "no row is lost, that of vector(1) neither"
    assert unsure_in(answer) is None
    names = ", ".join(
        f"cluster={cluster_name}" for cluster_name in told.split(", ") if cluster_name
    )
    text = f"the source has series of several clusters: {names}"
    assert several_in(answer.samples) == (Problem("RDG020", text) if told else None)

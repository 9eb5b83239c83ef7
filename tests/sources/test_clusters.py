"""A source that has several clusters' series is asked for one of them, or not believed."""

import re
from collections.abc import Sequence

import pytest

from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.sources.prometheus.catalog import fill
from rescheduler.sources.prometheus.clusters import QUESTION
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests import cluster
from tests.sources.metrics import Stub, read, vector
from tests.sources.server import Reply, Request, serving

N1 = {"instance": "n1"}


COUNTED = re.compile(
    r'(?:label_replace\()?count by \(([\w,]+)\) \((\w+){}\)(?:, "(\w+)", "(\w+)", "", ""\))?'
)


def stub(*nodes: dict[str, str], rows: tuple[dict[str, str], ...] = (N1,)) -> Stub:
    """A source that has series of each node under these labels, and the rows of node.memory."""
    made = Stub().series("node.memory", [(row, 0.5) for row in rows])
    made.rows[fill(QUESTION, 0, "")] = answered(nodes)
    return made


def answered(series: Sequence[dict[str, str]]) -> list[tuple[dict[str, str], int]]:
    """What PromQL answers to QUESTION on these series, but for the row of `vector(1)`.

    `or` drops a row whose labels without `__name__` are those of a row before it.
    """
    found: dict[frozenset[tuple[str, str]], dict[str, str]] = {}
    *counts, last = fill(QUESTION, 0, "").split(" or ")
    assert last == "vector(1)"
    for count in counts:
        counted = COUNTED.fullmatch(count)
        assert counted is not None, count
        by, metric, label, value = counted.groups()
        for labels in series:
            if labels["__name__"] == metric:
                row = {key: text for key, text in labels.items() if key in by.split(",")}
                if label:
                    row[label] = value
                found.setdefault(frozenset(row.items() - {("__name__", metric)}), row)
    return [(row, 1) for row in found.values()]


def code(made: Stub, name: str = "node.memory") -> str:
    problem = read(made, name, cluster.snapshot([cluster.node("n1")], [])).problem
    return "" if problem is None else f"{problem.code} {problem.message}"


@pytest.mark.parametrize("label", ["cluster", "k8s_cluster_name"])
def test_two_clusters_behind_one_engine_are_refused(label: str) -> None:
    """Though the queries' own answers do not tell, because they keep no such label."""
    both = [{"__name__": "kube_node_info", label: name} for name in ("eu-1", "us-1")]
    text = f'RDG020 the source has series of several clusters: {label}="eu-1", {label}="us-1"'
    assert code(stub(*both)) == text
    assert code(stub(both[0])) == ""
    assert code(stub()) == ""


def test_a_cluster_with_a_label_and_one_without_are_two() -> None:
    name = {"__name__": "kube_node_info"}
    assert "RDG020" in code(stub(name, {**name, "cluster": "eu-1"}))
    # Of two metrics each may be labelled by its own collector.
    assert code(stub(name, {"__name__": "node_time_seconds", "cluster": "eu-1"})) == ""


def test_a_cluster_that_has_the_second_metric_only_is_seen() -> None:
    """Its kube-state-metrics comes after that of a cluster that has node_exporter too."""
    node, state = ({"__name__": name} for name in ("node_time_seconds", "kube_node_info"))
    x, y = ({"cluster": name} for name in "xy")
    assert 'cluster="x", cluster="y"' in code(stub(node | x, state | x, state | y))
    assert 'cluster="", cluster="x"' in code(stub(node, state | x, state))


def test_rows_of_two_clusters_are_refused_whatever_else_is_known() -> None:
    rows = tuple({**N1, "cluster": name} for name in ("eu-1", "us-1"))
    assert "RDG020" in code(stub(rows=rows))
    elsewhere = (N1 | {"cluster": "eu-1"}, {"instance": "other", "cluster": "us-1"})
    assert "RDG020" in code(stub(rows=elsewhere)), "though the other has no node of that name"


def test_one_answer_with_two_clusters_makes_all_readings_doubtful() -> None:
    made = stub()
    both = [({**N1, "cluster": name}, 0.5) for name in ("eu-1", "us-1")]
    made.series("node.memory.peak", both)
    with serving(made) as served:
        prometheus = Prometheus(served.url)
        wanted = [ReadingRequest(name) for name in ("node.memory", "node.memory.peak")]
        found = read_readings(prometheus, wanted, cluster.snapshot([cluster.node("n1")], []))
        prometheus.close()
    assert [reading.problem and reading.problem.code for reading in found.entries] == ["RDG020"] * 2


def test_pairs_are_refused_as_well() -> None:
    request = ReadingRequest(
        "pair.traffic",
        series="bytes_total{$match}",
        columns=("from_ns", "from", "Workload", "to_ns", "to", "Workload"),
    )
    both = [{"__name__": "kube_node_info", "cluster": name} for name in ("eu-1", "us-1")]
    with serving(stub(*both)) as served:
        prometheus = Prometheus(served.url)
        [reading] = read_readings(
            prometheus, [request], cluster.snapshot([cluster.node("n1")], [])
        ).entries
        prometheus.close()
    assert reading.problem is not None
    assert reading.problem.code == "RDG020"


def test_a_selector_narrows_the_question_too_and_must_select_one_cluster() -> None:
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        asked.append(request.query["query"])
        return Stub()(request)

    with serving(answer) as served:
        prometheus = Prometheus(served.url, selector='cluster="eu-1"')
        read_readings(
            prometheus,
            [ReadingRequest("node.memory")],
            cluster.snapshot([cluster.node("n1")], []),
        )
        prometheus.close()
    (question,) = [query for query in asked if "{cluster=" in query and "kube_node_info" in query]
    assert question.count('{cluster="eu-1",}') == question.count("count by") > 0


def test_an_answer_that_is_not_whole_leaves_open_whose_series_there_are() -> None:
    question = fill(QUESTION, 0, "")
    made = stub()

    def told(reply: Reply) -> str:
        made.fail = lambda request: reply if request.query["query"] == question else None
        return code(made)

    warned = vector([({}, 1)], warnings=["1 store did not answer"])
    assert told(warned) == "RDG002 the source warns: 1 store did not answer"
    assert told(vector([])).startswith("RDG002 whether the source has series of several clusters")


def test_no_reading_is_believed_once_the_clusters_query_has_failed() -> None:
    made = stub().series("node.memory.peak", [(N1, 0.5)])
    question = fill(QUESTION, 0, "")
    made.fail = lambda request: Reply(b"{}", 422) if request.query["query"] == question else None
    with serving(made) as served:
        prometheus = Prometheus(served.url)
        wanted = [ReadingRequest(name) for name in ("node.memory", "node.memory.peak")]
        found = read_readings(prometheus, wanted, cluster.snapshot([cluster.node("n1")], []))
        prometheus.close()
    for reading in found.entries:
        assert reading.problem is not None
        assert reading.problem.code == "RDG001"
        assert "answered 422" in reading.problem.message


def test_too_few_values_are_not_evaluated_where_clusters_are_in_doubt() -> None:
    two = cluster.snapshot([cluster.node("n1"), cluster.node("n2")], [])
    made = stub()
    assert read(made, "node.memory", two).low_coverage
    question = fill(QUESTION, 0, "")
    made.fail = lambda request: vector([]) if request.query["query"] == question else None
    reading = read(made, "node.memory", two)
    assert reading.problem is not None
    assert (reading.problem.code, reading.low_coverage) == ("RDG002", False)

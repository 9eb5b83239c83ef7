"""An exporter that was never there is told from one that has stopped, by the source's own past."""

from rescheduler.sources.prometheus.absent_exporters import query_of_past
from rescheduler.sources.prometheus.known_nodes import query_of_nodes
from rescheduler.sources.prometheus.section import metric_of
from tests.cluster import node, snapshot
from tests.sources.metrics import Stub, answer, read, sources_of, vector
from tests.sources.server import Reply, Request

NAMES = {metric_of(source) for source in sources_of("node.memory")}


class Remembering(Stub):
    """A source that knows these nodes, and answers so about the past."""

    def __init__(self, *nodes: str, past: Reply) -> None:
        super().__init__()
        self.rows[query_of_nodes("")] = [({"node": name}, 1) for name in nodes]
        self.past = past
        self.fail = self.answer_past

    def answer_past(self, request: Request) -> Reply | None:
        return self.past if request.query["query"] == query_of_past(NAMES, "") else None


def code(stub: Stub) -> tuple[str, str]:
    reading = read(stub, "node.memory", snapshot([node("n1"), node("n2")], []))
    assert reading.problem is not None
    return reading.problem.code, reading.problem.message


NEVER, BEFORE = vector([]), vector([({}, 2)])


def test_an_exporter_that_was_never_there_is_absent() -> None:
    assert code(Remembering("n1", past=NEVER))[0] == "RDG017"


def test_one_that_answered_before_has_stopped() -> None:
    stopped, message = code(Remembering("n1", past=BEFORE))
    assert stopped == "RDG009"
    assert "it had some in the last 7 days, and has stopped" in message


def test_where_the_past_is_not_known_it_counts_as_stopped() -> None:
    broken = Reply(b"{}", status=500)
    partial = answer({"resultType": "vector", "result": []}, warnings=["a store is away"])
    for past in (broken, partial):
        assert code(Remembering("n1", past=past))[0] == "RDG009"


def test_a_source_that_knows_no_node_has_lost_its_data() -> None:
    assert code(Remembering(past=NEVER))[0] == "RDG009"
    assert code(Remembering("elsewhere", past=NEVER))[0] == "RDG009"


def test_the_past_is_asked_with_the_selector() -> None:
    asked = query_of_past(["b", "a"], 'cluster="eu-1",')
    series = '{__name__=~"a|b",cluster="eu-1"}'
    assert asked == (
        f"count(present_over_time({series}[1h]) or present_over_time({series}[7d:1h]))"
    )

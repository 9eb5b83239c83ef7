"""Evictions, sent with the real client to a server that answers as the API server does."""

from collections.abc import Iterator
from functools import partial

import msgspec
import pytest
from kubernetes.client import ApiClient, Configuration

from rescheduler.actions.api_call import ApiResponse, call
from rescheduler.actions.evict import (
    EvictionAnswer,
    annotations,
    evict,
    eviction_answer,
)
from rescheduler.actions.seen_pod import read_pod, was_evicted
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.moves.plan import PlannedMove, PodRef, Result
from tests.cases import every
from tests.fakes.apiserver import FakeServer, Fault, Kind, serving
from tests.fakes.moves import planned
from tests.fakes.stage import Stage
from tests.sources import server as http

EVICTION = "/eviction"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


def ask(server: FakeServer, *, timeout: float = 5.0) -> tuple[PlannedMove, EvictionAnswer]:
    pod = server.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    move = planned(pod)
    return move, evict(server.client(), move, annotations(move, "abc", 7), timeout=timeout)


def test_a_pod_is_named_by_uid_and_keeps_its_grace_period(server: FakeServer) -> None:
    move, answer = ask(server)
    assert (answer.result, answer.code) == ("evicted", "ACT001")
    (body,) = server.sent("POST", EVICTION)
    assert body is not None
    assert body["apiVersion"] == "policy/v1"
    assert body["deleteOptions"] == {"preconditions": {"uid": move.pod.uid}}
    assert body["metadata"]["annotations"] == {
        "rescheduler.io/requested-by": "rescheduler",
        "rescheduler.io/plan": "abc",
        "rescheduler.io/policies": "hot",
        "rescheduler.io/reasons": "UTL001",
        "rescheduler.io/source": "n1",
        "rescheduler.io/gain": "1",
        "rescheduler.io/fence": "7",
    }


def test_a_dry_run_is_answered_as_an_eviction_and_does_nothing(server: FakeServer) -> None:
    pod = server.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    server.world.add_budget("web", "web", allowed=1)
    move = planned(pod)

    def dry_run() -> str:
        return evict(server.client(), move, {}, dry_run=True, timeout=5).code

    assert [dry_run(), dry_run()] == ["ACT001", "ACT001"]
    assert server.world.accepted == []
    (_, path, body, _) = server.requests[0]
    assert path.endswith("/eviction?dryRun=All")
    assert body is not None
    assert body["deleteOptions"] == {"preconditions": {"uid": move.pod.uid}, "dryRun": ["All"]}
    server.world.forbidden.add("web")
    assert dry_run() == "ACT007"


def test_the_credential_goes_with_it(server: FakeServer) -> None:
    ask(server)
    (headers,) = [h for m, p, _, h in server.requests if EVICTION in p]
    assert headers["authorization"] == "Bearer secret-token"


def test_a_pod_that_is_gone(server: FakeServer) -> None:
    pod = server.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    move = planned(pod, pod=PodRef(namespace="default", name="web-9", uid="x"))
    answer = evict(server.client(), move, {}, timeout=5)
    assert (answer.result, answer.otherwise) == ("unknown", "ACT002")


def test_a_fresh_pod_of_the_same_name_lives(server: FakeServer) -> None:
    pod = server.world.add_pod("db-0", "n1", owner=("StatefulSet", "s-1"), app="db")
    move = planned(pod, pod=PodRef(namespace="default", name="db-0", uid="the-old-one"))
    answer = evict(server.client(), move, {}, timeout=5)
    assert (answer.result, answer.otherwise) == ("unknown", "ACT003")
    assert server.world.accepted == []


def test_a_budget_without_allowance_is_not_tried_again(server: FakeServer) -> None:
    server.world.add_budget("web", "web", allowed=0)
    _, answer = ask(server)
    assert (answer.result, answer.code, answer.retry_after) == ("refused", "ACT004", None)
    assert "needs 3 healthy pods" in answer.message
    assert not answer.stops


def test_a_budget_that_its_controller_has_not_seen_may_be_tried_again(server: FakeServer) -> None:
    server.world.add_budget("web", "web", allowed=1)
    server.world.objects["poddisruptionbudgets", "default", "web"]["metadata"]["generation"] = 2
    _, answer = ask(server)
    assert (answer.result, answer.code, answer.retry_after) == ("refused", "ACT005", 10.0)
    assert "still being processed" in answer.message


def test_two_budgets(server: FakeServer) -> None:
    server.world.add_budget("web", "web", allowed=1)
    server.world.add_budget("also", "web", allowed=1)
    _, answer = ask(server)
    assert (answer.result, answer.code) == ("refused", "ACT006")


@pytest.mark.parametrize(
    ("status", "result", "code", "stops"),
    [
        (429, "refused", "ACT005", True),
        (401, "refused", "ACT007", False),
        (403, "refused", "ACT007", False),
        (400, "refused", "ACT008", False),
        (422, "refused", "ACT008", False),
        (301, "unknown", "ACT009", False),
        (408, "unknown", "ACT009", False),
        (500, "unknown", "ACT009", False),
        (503, "unknown", "ACT009", False),
        (504, "unknown", "ACT009", False),
    ],
)
def test_other_answers(
    server: FakeServer, status: int, result: Result, code: str, stops: bool
) -> None:
    server.faults.append(Fault("POST", EVICTION, status, retry_after=10))
    _, answer = ask(server)
    assert (answer.result, answer.code, answer.stops) == (result, code, stops)
    assert answer.retry_after is None
    assert len(server.sent("POST", EVICTION)) == 1


@every(
    [
        {"message": "slow down", "details": "limit 100/s"},
        {"details": ["DisruptionBudget"]},
        {"details": {"causes": "DisruptionBudget"}},
        {"details": {"causes": ["DisruptionBudget", None, 1]}},
        {"details": None},
    ]
)
def test_a_429_with_a_body_of_somebody_else_is_no_budget(said: dict[str, object]) -> None:
    reply = http.Reply(status=429, body=msgspec.json.encode(said))
    with http.serving(lambda _: reply) as served:
        client = ApiClient(Configuration(host=served.url))
        move = planned(Stage().world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs"), app="web"))
        answer = evict(client, move, {})
    assert (answer.result, answer.code, answer.stops) == ("refused", "ACT005", True)


FULL = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
HOOK = 'admission webhook "guard.example.com" denied the request: not before noon'
POLICY = "ValidatingAdmissionPolicy '{}' with binding 'b' denied request: not before noon"


@pytest.mark.parametrize(
    ("status", "message", "details", "code"),
    [
        (403, FULL, {"kind": "poddisruptionbudget", "name": "web"}, "ACT004"),
        (403, FULL, {"causes": [{"reason": "DisruptionBudget", "message": "too big"}]}, "ACT004"),
        (403, "unable to create", {"causes": [{"reason": "NamespaceTerminating"}]}, "ACT008"),
        (403, 'User "x" cannot create resource "pods/eviction"', {"kind": "pods"}, "ACT007"),
        *((status, HOOK, {}, "ACT008") for status in (400, 403, 404, 409, 429, 500)),
        (403, POLICY.format("freeze"), {}, "ACT008"),
        (403, POLICY.format("rescheduler-evictions"), {}, "ACT007"),
    ],
)
def test_an_answer_is_understood_by_its_cause(
    status: int, message: str, details: dict[str, object], code: str
) -> None:
    answer = eviction_answer(
        ApiResponse(status, {"details": details}, {"Retry-After": "5"}, message)
    )
    assert (answer.result, answer.code, answer.stops) == ("refused", code, False)


@every([301, 302, 307, 308])
def test_an_eviction_goes_nowhere_else(status: int) -> None:
    redirect = http.Reply(status=status, headers={"Location": "/elsewhere"})
    with http.serving(lambda _: redirect) as served:
        client = ApiClient(Configuration(host=served.url))
        move = planned(Stage().world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs"), app="web"))
        answer = evict(client, move, {})
    assert (answer.result, answer.code) == ("unknown", "ACT009")
    assert [(request.method, request.path) for request in served.requests] == [
        ("POST", "/api/v1/namespaces/default/pods/web-1/eviction")
    ]


@pytest.mark.parametrize(
    ("kind", "applied"), [("drop-before", 0), ("drop-after", 1), ("hang", 0), ("garbage", 1)]
)
def test_no_answer_is_an_unknown_outcome_and_nothing_is_sent_twice(
    server: FakeServer, kind: Kind, applied: int
) -> None:
    server.faults.append(Fault("POST", EVICTION, kind))
    move, answer = ask(server, timeout=0.3)
    assert (answer.result, answer.code) == ("unknown", "ACT009")
    assert len(server.sent("POST", EVICTION)) == 1
    found = read_pod(partial(call, server.client(), "GET", timeout=5.0), "default", "web-1")
    assert was_evicted(found, move.pod.uid) == bool(applied)


def test_a_server_that_is_not_there() -> None:
    with serving() as fake:
        client = fake.client()
        pod = fake.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    answer = evict(client, planned(pod), {}, timeout=2)
    assert (answer.result, answer.code) == ("unknown", "ACT009")
    with pytest.raises(ClusterUnavailable, match="no answer"):
        read_pod(partial(call, client, "GET", timeout=5.0), "default", "web-1")

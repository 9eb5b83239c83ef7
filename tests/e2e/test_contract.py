"""What our actions rely on, asked of the real API server through the real client.

The fake server of the fast tests answers the same questions in tests/actions.
"""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from kubernetes.client import ApiClient
from msgspec import structs

from rescheduler.actions.api_call import call
from rescheduler.actions.events import EventWriter
from rescheduler.actions.evict import annotations, evict
from rescheduler.actions.seen_pod import read_pod, was_evicted
from rescheduler.model.errors import LedgerUnreadable, LockLost
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import MoveResult, PlannedMove, PodRef
from rescheduler.model.problem import Problem
from rescheduler.reporting.move_reasons import coded_text
from rescheduler.reporting.move_sentences import move_sentence
from rescheduler.runtime.live_actor import open_state
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.fakes.moves import planned

pytestmark = pytest.mark.e2e


def web(cluster: Cluster, *budgets: Any) -> list[PlannedMove]:
    """The moves of three Ready pods of one Deployment under these budgets."""
    cluster.create(*nodes(3), deployment("web", 3), *budgets)
    cluster.settled()
    return [planned(pod) for pod in cluster.pods("web")]


def allowed(cluster: Cluster) -> list[int]:
    items = cluster.api.items("policy/v1", "PodDisruptionBudget")
    return [item.get("status", {}).get("disruptionsAllowed", 0) for item in items]


def test_an_eviction_then_its_budget_then_another_uid_then_nobody(
    cluster: Cluster, client: ApiClient
) -> None:
    first, second, third = web(cluster, budget("web", max_unavailable=1))
    cluster.until(lambda: allowed(cluster) == [1], "a disruption allowed")

    answer = evict(client, first, annotations(first, "abc123", 1))
    assert (answer.result, answer.code) == ("evicted", "ACT001"), answer
    found = read_pod(partial(call, client, "GET", timeout=5.0), first.pod.namespace, first.pod.name)
    assert was_evicted(found, first.pod.uid)

    blocked = evict(client, second, {})
    assert blocked.result == "refused", blocked
    # Exhausted, or its controller has not seen the first eviction yet: Retry-After shows which.
    assert blocked.code == ("ACT004" if blocked.retry_after is None else "ACT005"), blocked
    assert not blocked.stops

    cluster.settled()
    cluster.until(lambda: allowed(cluster) == [1], "a disruption allowed again")
    renewed = PodRef(namespace="default", name=third.pod.name, uid="another-uid")
    other = evict(client, structs.replace(third, pod=renewed), {})
    assert (other.result, other.otherwise) == ("unknown", "ACT003"), other

    nowhere = PodRef(namespace="default", name="never-was", uid="another-uid")
    nobody = evict(client, structs.replace(third, pod=nowhere), {})
    assert (nobody.result, nobody.otherwise) == ("unknown", "ACT002"), nobody
    assert read_pod(partial(call, client, "GET", timeout=5.0), "default", "never-was") is None


def test_two_budgets_on_one_pod(cluster: Cluster, client: ApiClient) -> None:
    move, *_ = web(
        cluster, budget("web", max_unavailable=1), budget("web", max_unavailable=1, name="also")
    )
    answer = evict(client, move, {})

    assert (answer.result, answer.code) == ("refused", "ACT006"), answer


def test_the_lock_and_the_ledger(cluster: Cluster, client: ApiClient) -> None:
    first = open_state(client, identity="first")
    first.lease.acquire()
    history = first.ledger.open()
    assert (history.moves, history.ramp_left(first.clock.now())) == ([], 3)
    assert first.lease.noted
    assert first.lease.renew()
    past = PastMove(
        plan="p",
        podUid="u",
        namespace="default",
        pod="web-1",
        workload="w",
        source="n1",
        at=first.clock.now(),
    )
    first.ledger.write(History([past]))
    assert abs(first.clock.skew()) < 5
    first.lease.release()

    second = open_state(client, identity="second")
    second.lease.acquire()
    assert [move.podUid for move in second.ledger.open().moves] == ["u"]
    with pytest.raises(LockLost, match="fence 2, ours is 1"):
        first.ledger.write(History())
    second.lease.release()

    cluster.api.delete(cluster.api.read("v1", "ConfigMap", "rescheduler-state", "rescheduler"))
    third = open_state(client, identity="third")
    third.lease.acquire()
    with pytest.raises(LedgerUnreadable, match="holds no state"):
        third.ledger.open()
    third.lease.release()


def test_events_are_accepted_on_pod_and_owner(cluster: Cluster, client: ApiClient) -> None:
    move, *_ = web(cluster)
    reported = Problem(code="ACT001", message="The pod was evicted.")
    writer = EventWriter(
        client,
        instance="contract_1",
        now=lambda: datetime.now(UTC),
        describe=move_sentence,
        reason_text=coded_text,
    )

    writer(move, MoveResult.from_move(move, "evicted", reported), "abc123")

    assert writer.failures == 0
    events = cluster.api.items("events.k8s.io/v1", "Event", namespace="default")
    ours = [e for e in events if e.get("reportingController") == "rescheduler.io/rescheduler"]
    assert sorted(e["regarding"]["kind"] for e in ours) == ["Pod", "ReplicaSet"]
    assert all("abc123" in e["note"] for e in ours)

"""Workloads of Kueue that wait: which of them may take the quota that a move frees."""

from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Undecodable
from tests.cases import every
from tests.planning.gang_worlds import in_one_rack, planned
from tests.planning.kueue_gangs import State, cluster, made, state


def waiting(queue: str = "team", namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Workload that is not admitted."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": "rival", "namespace": namespace, "uid": "rival"},
        "spec": {"queueName": queue, **spec},
    }


def running(*more: str, gone: str | None = None) -> dict[str, Any]:
    """The same, admitted, with these conditions too, or on its way out."""
    types = ("Admitted", *more)
    rival = waiting() | {"status": {"conditions": [{"type": t, "status": "True"} for t in types]}}
    rival["metadata"] |= {"deletionTimestamp": gone} if gone else {}
    return rival


def other_queue(
    cohort: str = "", active: str = "True", pending: int = 0, stops: str = "", **named: Any
) -> list[dict[str, Any]]:
    spec = {"cohort": cohort, "resourceGroups": [], "namespaceSelector": {}, **named}
    status = {"conditions": [{"type": "Active", "status": active}], "pendingWorkloads": pending}
    local = {"clusterQueue": "b", "stopPolicy": stops}
    return [
        {"metadata": {"name": "b"}, "spec": spec, "status": status},
        {"metadata": {"name": "else", "namespace": "default"}, "spec": local},
    ]


NOT_TAKEN = {"matchLabels": {"team": "other"}}
SHARED = {"cohort": "all"}


@every(
    [
        (waiting(), [], {}, True),
        (waiting(active=False), [], {}, False),
        (running(), [], {}, False),
        (running("Finished"), [], {}, False),
        (running("Evicted"), [], {}, True),
        (running(gone="2026-01-01T00:00:00Z"), [], {}, True),
        (waiting("mistyped"), [], {}, False),
        (waiting(""), [], {}, False),
        (waiting("team", "elsewhere"), [], {}, False),
        (waiting("else"), other_queue("all")[1:], {}, False),
        (waiting("else"), other_queue("all", stops="Hold"), SHARED, False),
        (waiting("else"), other_queue("all", stops="None"), SHARED, True),
        (waiting("else"), other_queue("all", active="False"), SHARED, False),
        (waiting("else"), other_queue("all", stopPolicy="HoldAndDrain"), SHARED, False),
        (waiting("else"), other_queue("all", namespaceSelector=NOT_TAKEN), SHARED, False),
        (
            waiting("else"),
            other_queue("all", pending=1, namespaceSelector=NOT_TAKEN),
            SHARED,
            False,
        ),
        (waiting("else"), other_queue(), {}, False),
        (waiting("else"), other_queue("all"), {}, False),
        (waiting("else"), other_queue("all"), {"cohort": "all"}, True),
        (waiting("else"), other_queue("child"), {"cohort": "parent"}, True),
        (waiting("else"), other_queue(cohortName="all"), {"cohortName": "all"}, True),
    ]
)
def test_nothing_else_may_wait_for_the_quota_that_it_frees(
    rival: dict[str, Any], more: list[dict[str, Any]], own: dict[str, str], held: bool
) -> None:
    def change(objects: State) -> None:
        objects["workloads"].append(rival)
        objects["more"] = more
        objects["queue"]["spec"] |= own

    plan = made(change)
    assert bool(plan.moves) is not held
    assert set(plan.totals.refused) == ({"ELG034"} if held else set())
    if held:
        assert "/rival waits" in plan.refused[0].message


@pytest.mark.parametrize(
    ("queue", "held"),
    [
        ({"pending": 1}, True),
        ({"pending": 1, "stopPolicy": "Hold"}, False),
        ({"pending": 1, "active": "False"}, False),
    ],
)
def test_a_queue_counts_what_waits_in_it_only_while_it_admits(
    queue: dict[str, Any], held: bool
) -> None:
    def change(objects: State) -> None:
        objects["more"] = other_queue("all", **queue)
        objects["queue"]["spec"]["cohort"] = "all"

    plan = made(change)
    assert bool(plan.moves) is not held
    if held:
        assert "ClusterQueue b has 1 Workload pending" in plan.refused[0].message


def test_with_unread_namespace_labels_any_queue_may_take_workloads() -> None:
    objects = state()
    objects["workloads"].append(waiting("else", "unread"))
    objects["more"] = other_queue("all", namespaceSelector=NOT_TAKEN)
    objects["more"][1]["metadata"]["namespace"] = "unread"
    objects["queue"]["spec"]["cohort"] = "all"
    plan = planned(cluster(objects), in_one_rack(), gangs="Whole", kueue="Restart")
    assert set(plan.totals.refused) == {"ELG034"}


@every(
    [
        ("LocalQueue", "default", "mistyped", True),
        ("LocalQueue", "", "", True),
        ("LocalQueue", "elsewhere", "mistyped", False),
        ("ClusterQueue", "", "b", False),
    ]
)
def test_a_queue_that_cannot_be_decoded_is_not_taken_for_missing(
    kind: str, namespace: str, name: str, held: bool
) -> None:
    objects = state()
    objects["workloads"].append(waiting("mistyped", "default"))
    odd = Undecodable(kind, namespace, name, "spec: not an object")
    plan = planned(
        cluster(objects, undecodable=[odd]), in_one_rack(), gangs="Whole", kueue="Restart"
    )
    refused = {refusal.code for refusal in plan.refused}
    assert ("ELG034" in refused) is held


@pytest.mark.parametrize(
    ("kind", "held"), [("Workload.kueue.x-k8s.io", True), ("PodGroup.scheduling.run.ai", False)]
)
def test_a_workload_that_cannot_be_decoded_may_wait_for_the_quota(kind: str, held: bool) -> None:
    odd = Undecodable(kind, "elsewhere", "odd", "spec.podSets[0].count: not an int")
    plan = planned(
        cluster(state(), undecodable=[odd]), in_one_rack(), gangs="Whole", kueue="Restart"
    )
    assert bool(plan.moves) is not held
    assert set(plan.totals.refused) == ({"ELG034"} if held else set())
    if held:
        assert "Workload elsewhere/odd cannot be decoded" in plan.refused[0].message

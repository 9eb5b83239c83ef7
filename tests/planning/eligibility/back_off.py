"""A small cluster in which moves went wrong."""

from datetime import timedelta
from typing import Any

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import refusal
from rescheduler.policies.limits import Limits
from tests.cluster import NOW
from tests.picture import picture

CLUSTER = """
    zone a | n1 | web web db
    zone a | n2 | web db
    zone b | n3 | web db
"""
COOL = timedelta(minutes=30)


def cluster() -> Snapshot:
    return picture(CLUSTER)


def past(before: Snapshot, ago: timedelta, app: str = "web", **changed: Any) -> PastMove:
    """A pod of that workload was moved from n1 to n2 so long ago, where its replacement runs."""
    (workload,) = [
        workload_object for workload_object in before.workloads if workload_object.name == app
    ]
    (running,) = [
        pod.metadata.uid
        for pod in before.pods
        if (pod.metadata.labels or {})["app"] == app and pod.node == "n2"
    ]
    fields: dict[str, Any] = {
        "plan": "earlier",
        "podUid": f"{app}-{ago.total_seconds()}",
        "namespace": "default",
        "pod": f"{app}-9",
        "workload": workload.uid,
        "controller": workload.controller_uid,
        "controllerKind": "ReplicaSet",
        "source": "n1",
        "landedOn": "n2",
        "at": NOW - ago,
        "settled": NOW - ago,
        "state": "ready",
        "replacement": running,
        "readySeconds": 20.0,
    }
    return PastMove(**(fields | changed))


def verdict(before: Snapshot, *moves: PastMove, on: str = "n1", **limits: Any) -> Problem | None:
    (number, *_) = [i for i, pod in enumerate(before.pods) if pod.node == on]
    return refusal(before, number, Limits.model_validate(limits), History(list(moves)))


def code(*asked: Any, **more: Any) -> str:
    found = verdict(*asked, **more)
    return found.code if found is not None else ""

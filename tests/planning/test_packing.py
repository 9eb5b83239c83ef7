"""Packing frees whole nodes, and leaves those alone that would not be free in the end."""

from typing import Any

import msgspec
import pytest

from rescheduler.model.history import History
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.scheduler.config.scheduler import Scheduler
from tests.picture import picture

EVERYTHING: Any = {"all": True}
PACK = Utilization(
    name="pack",
    nodes=EVERYTHING,
    match=EVERYTHING,
    strategy="Pack",
    cold=0.3,
    targets={"cpu": {"high": "80%"}},  # type: ignore[arg-type]
)
FULL_FIRST = Scheduler.model_validate(
    {
        "name": "default-scheduler",
        "disabledScores": ["NodeResourcesBalancedAllocation"],
        "arguments": {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}},
    }
)
LIMITS = Limits(
    margin=0.01,
    gainShare=0.0,
    minReplicas=1,
    movesPerWorkload=10,
    movesPerNode=10,
    inFlightPerWorkload=10,
)


def cluster() -> Snapshot:
    return picture(
        """
            zone a | n1 | web web web
            zone a | n2 | api dns
        """,
        requests={"web": {"cpu": "1"}, "api": {"cpu": "1"}, "dns": {"cpu": "100m"}},
        readings={
            "node.cpu": {"n1": "40%", "n2": "14%"},
            "pod.cpu": {"web": 1.0, "api": 1.0, "dns": 0.1},
        },
        policies=[PACK],
    )


def moved(before: Snapshot, policy: Utilization = PACK) -> list[tuple[str, str]]:
    made = plan(before, policy_set([policy], LIMITS, (FULL_FIRST,)), History(), mode="Enforce")
    return sorted((each.owner.name, each.source) for each in made.moves)


def test_a_cold_node_is_freed() -> None:
    assert moved(cluster()) == [("api", "n2"), ("dns", "n2")]


@pytest.mark.parametrize(
    "what",
    [
        {"priorityClassName": "system-cluster-critical", "priority": 2_000_000_000},
        {"schedulingGroup": {"podGroupName": "gang"}},
    ],
)
def test_no_pod_leaves_a_node_that_another_one_will_not_leave(what: dict[str, Any]) -> None:
    before = cluster()
    staying = next(each for each in before.pods if each.metadata.name.startswith("dns"))
    for each in before.pods:
        if each.metadata.labels == staying.metadata.labels:
            each.spec = msgspec.structs.replace(each.spec, **what)
    assert moved(before) == []


def test_no_pod_leaves_for_a_policy_that_may_not_move_the_others() -> None:
    before = cluster()
    for each in before.pods:
        if (each.metadata.labels or {}).get("app") == "dns":
            each.spec = msgspec.structs.replace(each.spec, priority=500)
    assert moved(before, PACK.model_copy(update={"maxPriority": 100})) == []
    assert moved(before, PACK.model_copy(update={"maxPriority": 500})) != []

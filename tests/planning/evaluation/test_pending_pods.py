"""Pending pods that want the same room hold a move; others do not."""

from dataclasses import replace
from typing import Any

import pytest

from tests.cluster import pod
from tests.planning.scenarios import GPU, hot_gpus


def codes(priority: int = 0, mine: int = 0, gpus: str = "1", **spec: Any) -> set[str]:
    """The codes of all refusals while such a pod is Pending and our pods have priority `mine`."""
    world = hot_gpus()
    for each in world.snapshot.pods:
        each.spec.priority = mine
    pending = pod("new", requests={GPU: gpus, "cpu": "1"}, labels={"app": "new"}, **spec)
    pending.spec.priority = priority
    world.snapshot = replace(world.snapshot, pods=[*world.snapshot.pods, pending])
    world.measure()
    made = world.plan()
    assert bool(made.moves) != ("GRD008" in made.totals.refused)
    return set(made.totals.refused)


def test_a_pending_pod_of_the_same_priority_holds_moves_to_its_room() -> None:
    assert "GRD008" in codes()
    assert "GRD008" in codes(priority=10)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"schedulerName": "another"}, id="its scheduler is not declared"),
        pytest.param({"gpus": "8", "priority": 10}, id="it could preempt others"),
    ],
)
def test_a_pending_pod_whose_landing_cannot_be_predicted_holds_moves(
    case: dict[str, Any],
) -> None:
    assert "GRD008" in codes(**case)


@pytest.mark.parametrize(
    "case",
    [
        {"mine": 1},
        {"mine": 1, "schedulerName": "another"},
        {"gpus": "9"},
        {"gpus": "9", "priority": 10, "schedulerName": "another"},
        {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}},
        {"schedulingGates": [{"name": "later"}]},
    ],
)
def test_lower_impossible_and_gated_pods_hold_nothing(case: dict[str, Any]) -> None:
    assert "GRD008" not in codes(**case)

"""Pending pods that want the same room hold a move; others do not."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.kube.controllers import Namespace
from rescheduler.kube.managed_fields import NamespaceMeta
from rescheduler.runtime.exit_codes import exit_code
from tests.cases import every
from tests.cluster import pod
from tests.planning.evaluation.pending import codes, outcome, waiting
from tests.planning.scenarios import hot_gpus

AWAY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["none"]}]}
            ]
        }
    }
}
"""No node has this label."""


def test_a_pending_pod_of_the_same_priority_holds_moves_to_its_room() -> None:
    assert "GRD008" in codes()
    assert "GRD008" in codes(priority=10)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            {"schedulerName": "another", "tried": True}, id="its scheduler is not declared"
        ),
        pytest.param({"schedulerName": "another", "priority": 7, "tried": True}, id="nor that one"),
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
        {"mine": 1, "schedulerName": "another", "tried": True},
        {"gpus": "9"},
        {"gpus": "9", "priority": 10, "schedulerName": "another", "tried": True},
        {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}},
        {"schedulingGates": [{"name": "later"}]},
        {"schedulerName": "nobody"},
        {"schedulerName": "nobody", "priority": 1_000_000},
        {"schedulerName": "another", "tried": True, "nodeSelector": {"pool": "none"}},
        {"schedulerName": "another", "tried": True, "affinity": AWAY},
        {"schedulerName": "another", "tried": True, "age": 3600.0},
        {"gpus": "8", "priority": 10, "nodeSelector": {"pool": "none"}},
        {"tried": True, "age": 3600.0},
        {"tried": True, "age": 3600.0, "priority": 10},
        {"gpus": "8", "priority": 10, "tried": True, "age": 3600.0},
    ],
)
def test_lower_impossible_and_gated_pods_hold_nothing(case: dict[str, Any]) -> None:
    assert "GRD008" not in codes(**case)


@pytest.mark.parametrize(("namespace", "held"), [("default", False), ("batch", True)])
def test_pods_placed_in_another_namespace_show_that_a_scheduler_is_there(
    namespace: str, held: bool
) -> None:
    """One in its own namespace may have named its node itself."""
    served = pod("there", "n50", namespace=namespace, labels={"app": "x"}, schedulerName="another")
    made = outcome(waiting(schedulerName="another"), served)
    assert ("GRD008" in made.totals.refused) == held


@every(
    [
        {"age": 3600.0},
        {"tried": True, "age": 600.0},
        {"gpus": "8", "priority": 10, "age": 3600.0},
        {"gpus": "8", "priority": 10, "tried": True, "age": 600.0},
    ]
)
def test_a_pod_that_fits_waits_until_its_scheduler_has_passed_it_over(
    case: dict[str, Any],
) -> None:
    """Where no scheduler says a word of it, that may be down, and place it later."""
    assert "GRD008" in codes(**case)


@pytest.mark.parametrize("held", [True, False])
def test_another_namespace_of_the_same_tenant_shows_no_scheduler(held: bool) -> None:
    served = pod("there", "n50", namespace="batch", labels={"app": "x"}, schedulerName="another")
    world = hot_gpus()
    pods = [*world.snapshot.pods, served, waiting(schedulerName="another")]
    spaces = [
        Namespace(metadata=NamespaceMeta(name=name, labels={"of": name if held else "mob"}))
        for name in ("default", "batch")
    ]
    world.snapshot = replace(world.snapshot, pods=pods, namespaces=spaces)
    world.limits = world.limits.model_copy(update={"tenantLabel": "of"})
    world.measure()
    assert ("GRD008" in world.plan().totals.refused) == held


def test_a_plan_that_pending_pods_hold_asks_somebody_to_look() -> None:
    made = outcome(waiting())
    assert not made.moves
    (guard,) = made.guards
    assert guard.code == "GRD008"
    assert "default/new" in guard.message
    assert exit_code(made) == 3


def test_where_they_hold_some_moves_alone_the_plan_goes_on() -> None:
    made = outcome(waiting(gpus="9"))
    assert made.moves
    assert made.guards == []

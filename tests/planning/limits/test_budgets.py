"""Budgets are spent along the plan, and never overdrawn at any prefix of it."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.documents.amounts import pods_of_amount
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.planning.limits.allowances import Allowances
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import NOW, budget, controller, deployment, node, pod, snapshot
from tests.planning.limits.budgets import WIDE, cluster, code, spent

_NONE = Problem(code="", message="")


@every(
    [
        ({"movesPerCycle": 1}, {1: "PAC001", 4: "PAC001"}, ()),
        ({"movesPerNode": 1}, {3: "PAC002"}, (1, 4)),
        ({"movesPerNamespace": 1}, {1: "PAC003", 5: "PAC003"}, ()),
        ({"movesPerWorkload": 1}, {1: "PAC004", 2: "PAC004"}, (3, 4)),
    ]
)
def test_own_limits(limits: dict[str, Any], refused: dict[int, str], allowed: Any) -> None:
    budgets = spent(cluster(), limits, 0)
    assert {pod: code(budgets, pod) for pod in refused} == refused
    assert [code(budgets, pod) for pod in allowed] == [""] * len(allowed)
    budgets.release(0)
    assert all(not code(budgets, pod) for pod in refused)


def test_the_hour_counts_what_was_done_before() -> None:
    assert code(spent(cluster(), {"movesPerHour": 3}, 0, past=1), 1) == ""
    assert code(spent(cluster(), {"movesPerHour": 3}, 0, past=2), 1) == "PAC005"


def moved(
    uid: str, *, ago: timedelta, workload: str = "", plan: str = "p", **more: Any
) -> PastMove:
    """A move of a pod of `web` off n1 in `default`, unless told otherwise."""
    owner = workload or deployment("web")[0].metadata.uid
    fields = {
        "plan": plan, "podUid": uid, "namespace": "default", "pod": uid, "workload": owner,
        "source": "n1", "at": NOW - ago, "state": "ready", **more,
    }  # fmt: skip
    return PastMove(**fields)


MINUTE = timedelta(minutes=1)


@every(
    [
        ("movesPerCycle", "PAC001", {1: "PAC001", 4: "PAC001"}),
        ("movesPerNode", "PAC002", {1: "", 3: "PAC002", 4: ""}),
        ("movesPerNamespace", "PAC003", {1: "PAC003", 4: "PAC003"}),
        ("movesPerWorkload", "PAC004", {1: "PAC004", 4: ""}),
    ]
)
def test_a_restart_does_not_begin_with_fresh_budgets(
    name: str, code_: str, others: dict[int, str]
) -> None:
    limits = Limits.model_validate(WIDE | {name: 2, "cyclePeriod": timedelta(minutes=5)})
    history = History([moved("x", ago=4 * MINUTE), moved("y", ago=5 * MINUTE)])
    budgets = Budgets(cluster(), limits, history)
    assert {0: code_, **others} == {pod: code(budgets, pod) for pod in {0: "", **others}}
    refusal = budgets.refusal(0)
    assert refusal is not None
    assert f"2 moves since 2026-11-21 11:55:00 UTC reach the limit of 2 ({name} 2" in (
        refusal.message
    )
    assert "cyclePeriod 5m" in refusal.message
    later = History([moved("x", ago=4 * MINUTE), moved("y", ago=5 * MINUTE + MINUTE / 60)])
    assert not code(Budgets(cluster(), limits, later), 0), "it is longer ago than cyclePeriod"
    refused = History([moved(uid, ago=MINUTE, state="refused") for uid in "xy"])
    assert not code(Budgets(cluster(), limits, refused), 0), "the API server refused them"


def test_the_past_and_the_plan_share_a_budget_and_nothing_counts_twice() -> None:
    limits = Limits.model_validate(WIDE | {"movesPerNamespace": 3})
    history = History([moved("x", ago=MINUTE)])
    budgets = Budgets(cluster(), limits, history)
    for pod_object in (0, 4):
        assert not code(budgets, pod_object)
        budgets.spend(pod_object)
        # What acting writes down meanwhile is in the plan, as far as this copy goes.
        history.moves.append(moved(f"pod-{pod_object}", ago=timedelta(0)))
    assert code(budgets, 5) == "PAC003"
    refusal = budgets.refusal(5)
    assert refusal is not None
    assert "1 move since 2026-11-21 11:55:00 UTC and 2 in this plan" in refusal.message
    budgets.release(4)
    assert not code(budgets, 5)


def test_moves_of_the_plan_being_carried_out_count_however_long() -> None:
    limits = Limits.model_validate(WIDE | {"movesPerCycle": 1})
    history = History([moved("x", ago=30 * MINUTE, plan="mine")])
    assert Budgets(cluster(), limits, history, "mine").refusal(0)
    assert not Budgets(cluster(), limits, history, "another").refusal(0)
    assert not Budgets(cluster(), limits, history).refusal(0)


def test_moves_of_what_is_not_in_the_snapshot_are_not_charged_to_what_is() -> None:
    limits = Limits.model_validate(WIDE | {"movesPerNode": 1, "movesPerWorkload": 1})
    gone = moved("x", ago=MINUTE, workload="gone", source="gone")
    assert not code(Budgets(cluster(), limits, History([gone])), 0)


def test_the_day_has_its_number_of_moves_too() -> None:
    limits = Limits.model_validate(WIDE | {"movesPerDay": 2})
    past = [moved("x", ago=23 * 60 * MINUTE), moved("y", ago=24 * 60 * MINUTE)]
    refusal = Budgets(cluster(), limits, History(past)).refusal(0)
    assert refusal is not None
    assert refusal.code == "PAC006"
    assert "2 moves since 2026-11-20 12:00:00 UTC reach the limit of 2" in refusal.message
    past[1] = moved("y", ago=24 * 60 * MINUTE + MINUTE)
    budgets = Budgets(cluster(), limits, History(past))
    budgets.spend(0)
    assert code(budgets, 1) == "PAC006"


def test_a_percentage_of_a_day_is_held_by_the_room_in_the_state() -> None:
    limits = Limits.model_validate(WIDE | {"movesPerHour": "100%", "movesPerDay": "100%"})
    room = limits.room_per_day
    assert 900 < room < 1100
    many = History([moved(f"u{i}", ago=120 * MINUTE) for i in range(room)])
    allowances = Allowances(cluster(), limits)
    day = next(row for row in limits.move_limits if row.field == "movesPerDay")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allowances, "pods", lambda *_: 10**6)
        assert allowances.allowance_of(day).most == room
        assert f"but the state has room for {room}" in str(allowances.allowance_of(day))
    assert code(Budgets(cluster(), limits, many), 0) == "PAC006"


@given(ages=st.lists(st.integers(-(10**5), 10**5), max_size=6))
def test_a_move_in_the_future_was_made_just_now(ages: list[int]) -> None:
    """A clock that stepped back frees nothing."""
    limits = Limits.model_validate(WIDE | {"movesPerCycle": 3, "movesPerDay": 3})
    past = [moved(f"u{i}", ago=timedelta(seconds=age)) for i, age in enumerate(ages)]
    forced = sum(age <= 300 for age in ages) >= 3 or sum(age <= 86400 for age in ages) >= 3
    assert bool(code(Budgets(cluster(), limits, History(past)), 0)) == forced


@every([((), 3), ((60,), 2), ((60, 40), 1), ((60, 40, 20), 0)])
def test_after_a_cold_start_each_of_three_cycles_moves_one_pod(
    ago: tuple[int, ...], left: int
) -> None:
    past = [moved(f"u{i}", ago=minutes * MINUTE, workload="w") for i, minutes in enumerate(ago)]
    history = History(past, rampSince=NOW - 90 * MINUTE)
    assert history.ramp_left(NOW) == left
    budgets = Budgets(cluster(), Limits.model_validate(WIDE), history)
    assert not code(budgets, 0)
    budgets.spend(0)
    assert code(budgets, 4) == ("PAC007" if left else "")
    if left:
        assert f"{left} to go: 1 move in this plan already" in (budgets.refusal(4) or _NONE).message
        history.moves.append(moved("now", ago=MINUTE, workload="w"))
        again = code(Budgets(cluster(), Limits.model_validate(WIDE), history), 0)
        assert again == "PAC007", "one in a cycle, whichever run made it"


def test_a_budget_is_spent_by_every_move_of_the_plan() -> None:
    made = cluster(budget("web", "web", allowed=2))
    budgets = spent(made, {}, 0, 1)
    assert code(budgets, 2) == "BUD002"
    assert code(budgets, 3) == ""
    use = budgets.use(2)
    assert use is not None
    assert (use.name, use.allowed) == ("web", 0)
    budgets.release(1)
    assert code(budgets, 2) == ""


@every(
    [
        ("AlwaysAllow", 0, 2, ""),
        ("IfHealthyBudget", 2, 2, ""),
        ("IfHealthyBudget", 1, 2, "BUD002"),
        ("IfHealthyBudget", 0, 0, "BUD002"),
        (None, 2, 2, ""),
        (None, 1, 2, "BUD002"),
    ]
)
def test_a_pod_that_is_not_ready_needs_a_healthy_budget(
    policy: str | None, healthy: int, desired: int, refused: str
) -> None:
    guard = budget("web", "web", allowed=0)
    guard.spec.unhealthyPodEvictionPolicy = policy
    guard.status.currentHealthy, guard.status.desiredHealthy = healthy, desired
    made = cluster(guard)
    assert code(spent(made, {}), 0) == "BUD002", "it is Ready"
    made.pods[0].status.conditions = None
    assert code(spent(made, {}), 0) == refused


def test_what_the_plan_takes_from_a_budget_is_healthy_no_more() -> None:
    guard = budget("web", "web", allowed=1)
    guard.status.currentHealthy = guard.status.desiredHealthy = 2
    made = cluster(guard)
    made.pods[0].status.conditions = None
    assert spent(made, {}).use(0) is None
    after = spent(made, {}, 1)
    assert after.use(0) is not None
    assert code(after, 0) == "BUD002"


def test_two_budgets_or_a_stale_one_are_refused_for_good() -> None:
    twice = Budgets(cluster(budget("a", "web"), budget("b", "web")), Limits(), History())
    assert code(twice, 0) == "BUD001"
    stale = budget("web", "web")
    stale.metadata.generation = 2
    behind = Budgets(cluster(stale), Limits(), History())
    assert code(behind, 0) == "BUD003"
    assert code(behind, 3) == ""


def test_the_audit_pass_has_limits_of_its_own_and_the_same_budgets() -> None:
    made = cluster(budget("web", "web", allowed=1))
    budgets = spent(made, {"movesPerCycle": 1}, 0)
    assert code(budgets, 3) == "PAC001"
    budgets.start_audit()
    assert code(budgets, 3) == ""
    assert code(budgets, 1) == "BUD002"


def test_an_old_move_does_not_count() -> None:
    old = PastMove(
        plan="", podUid="", namespace="", pod="", workload="", source="",
        at=NOW - timedelta(minutes=61),
    )  # fmt: skip
    budgets = Budgets(cluster(), Limits.model_validate({"movesPerHour": 1}), History([old]))
    assert Counter(code(budgets, pod) for pod in range(6)) == {"": 6}


@every(
    [
        # 6 pods run in all and in their namespace, 2 on each node, 3 of each workload.
        ({"movesPerCycle": "50%"}, (0, 1, 2), {3: "PAC001"}, ()),
        ({"movesPerCycle": "49%"}, (0, 1), {3: "PAC001"}, ()),
        ({"movesPerHour": "34%"}, (0, 1), {3: "PAC005"}, ()),
        ({"movesPerNode": "50%"}, (0,), {3: "PAC002"}, (1, 4)),
        ({"movesPerNode": "49%"}, (), {0: "PAC002", 4: "PAC002"}, ()),
        ({"movesPerNamespace": "17%"}, (0,), {1: "PAC003", 5: "PAC003"}, ()),
        ({"movesPerWorkload": "67%"}, (0, 1), {2: "PAC004"}, (3, 4)),
        ({"movesPerWorkload": "33%"}, (), {0: "PAC004", 3: "PAC004"}, ()),
        ({"movesPerWorkload": "0%"}, (), {0: "PAC004"}, ()),
        ({"movesPerWorkload": "100%"}, (0, 1, 2), {}, ()),
        ({"movesPerCycle": 0}, (), {0: "PAC001"}, ()),
        ({"movesPerHour": 0}, (), {0: "PAC005"}, ()),
        ({"movesPerNode": 0}, (), {0: "PAC002"}, ()),
        ({"movesPerNamespace": 0}, (), {0: "PAC003"}, ()),
        ({"movesPerWorkload": 0}, (), {0: "PAC004"}, ()),
    ]
)
def test_a_percentage_is_of_what_runs_rounded_down_and_zero_is_none(
    limits: dict[str, Any], moved: tuple[int, ...], refused: dict[int, str], allowed: Any
) -> None:
    budgets = spent(cluster(), limits, *moved)
    assert {pod: code(budgets, pod) for pod in refused} == refused
    assert [code(budgets, pod) for pod in allowed] == [""] * len(allowed)


def test_a_percentage_is_reported_with_what_it_is_of() -> None:
    made = cluster()
    reported = {
        name: spent(made, {name: "10%"}).refusal(0)
        for name in ("movesPerCycle", "movesPerHour", "movesPerNode", "movesPerWorkload")
    }
    assert {name: refusal.message for name, refusal in reported.items() if refusal} == {
        "movesPerCycle": "no move is allowed (movesPerCycle 10% of 6 pods)",
        "movesPerHour": "no move is allowed (movesPerHour 10% of 6 pods)",
        "movesPerNode": "node n1: no move is allowed (movesPerNode 10% of 2 pods)",
        "movesPerWorkload": "its workload: no move is allowed (movesPerWorkload 10% of 3 pods)",
    }


def test_only_running_pods_that_are_replaced_elsewhere_count() -> None:
    daemon, web = controller("DaemonSet", "agent"), deployment("web")
    pods = [
        *(pod(f"web-{i}", "n1", owner=web[1], labels={"app": "web"}) for i in range(10)),
        pod("agent", "n1", owner=daemon, labels={"app": "agent"}),
        pod("bare", "n1"),
        pod("pending", "", owner=web[1], labels={"app": "web"}),
        pod("starting", "n1", owner=web[1], labels={"app": "web"}, phase="Pending"),
        pod("going", "n1", owner=web[1], labels={"app": "web"}),
    ]
    pods[-1].metadata.deletionTimestamp = NOW
    made = snapshot([node("n1")], pods, controllers=[daemon, *web])
    for name in ("movesPerCycle", "movesPerNode", "movesPerNamespace", "movesPerWorkload"):
        # 19% of 10 pods is 1, and of 11 it would be 2.
        assert code(spent(made, {name: "19%"}, 0), 1), name
        assert not code(spent(made, {name: "20%"}, 0), 1), name


def test_what_is_on_no_node_or_of_no_workload_has_no_share() -> None:
    made = snapshot([node("n1")], [pod("bare", "n1"), pod("pending")])
    assert code(spent(made, {"movesPerNode": "100%"}), 1) == "PAC002"
    assert code(spent(made, {"movesPerWorkload": "100%"}), 0) == "PAC004"


@given(st.integers(0, 1000), st.integers(0, 10_000))
def test_a_percentage_allows_never_more_and_hardly_less_than_its_share(
    permille: int, pods: int
) -> None:
    text = f"{permille // 10}.{permille % 10}%"
    most = pods_of_amount(text, pods)
    assert most * 1000 <= permille * pods < (most + 1) * 1000
    assert pods_of_amount(permille, pods) == permille

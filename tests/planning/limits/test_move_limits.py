"""The rows of the limits on moves: counted as a plain count does, and no budget is forgotten."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.documents.amounts import pods_of_amount
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import OwnerRef, PlannedMove, PodRef
from rescheduler.model.reasons import CATALOG, ReasonCode, register
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.planning.limits.counted_pods import count_pods
from rescheduler.planning.limits.move_limits import MoveLimits
from rescheduler.planning.limits.spent_budgets import spent_budgets
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import DAY, HOUR, WINDOWS, MoveLimit
from rescheduler.policies.move_scopes import (
    Overall,
    PerNamespace,
    PerNode,
    PerNodeLabel,
    PerPodLabel,
    PerWorkload,
    Scope,
)
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.planning.limits.more_limits import RACK, TEAM, WIDE, labelled_limits

MINUTE = timedelta(minutes=1)
SCOPES = (
    Overall(),
    PerNode(),
    PerNamespace(),
    PerWorkload(),
    PerNodeLabel("rack"),
    PerPodLabel("team"),
)


@pytest.fixture(scope="module")
def more() -> Iterator[type[Limits]]:
    with labelled_limits() as limits:
        yield limits


def world() -> Snapshot:
    """Nodes n0 and n1 in rack a, n2 in rack b, n3 in none; pods of two teams and of none."""
    racks = ("a", "a", "b", None)
    nodes = [
        node(f"n{number}", labels={"rack": rack} if rack else {})
        for number, rack in enumerate(racks)
    ]
    pods, controllers = [], []
    for app, namespace in (("web", "default"), ("api", "shop")):
        top, middle = deployment(app, namespace=namespace)
        controllers += [top, middle]
        for number in range(6):
            team = ("search", "ads", None)[number % 3]
            labels = {"app": app} | ({"team": team} if team else {})
            on = f"n{number % 4}"
            made = pod(f"{app}-{number}", on, namespace=namespace, owner=middle, labels=labels)
            pods.append(made)
    pods.append(pod("waits", labels={"team": "ads"}))
    return snapshot(nodes, pods, controllers=controllers)


WORLD = world()


def planned(number: int, **more: Any) -> PlannedMove:
    """The move of this pod of the world as a plan has it."""
    metadata, workload = WORLD.pods[number].metadata, int(WORLD.pod_workload[number])
    fields: dict[str, Any] = {
        "pod": PodRef(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid),
        "owner": OwnerRef(
            kind="", name="", uid=WORLD.workloads[workload].uid if workload >= 0 else ""
        ),
        "source": WORLD.pods[number].node,
        "landing": [],
        "returns": 0.0,
        "unschedulable": 0.0,
        "gain": 1.0,
        "disruption": 1.0,
        "batch": 1,
    }
    return PlannedMove(**fields | more)


def moved(number: int, limits: Limits, ago: timedelta, **more: Any) -> PastMove:
    """The same, made so long ago."""
    move = planned(number)
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": move.pod.uid,
        "namespace": move.pod.namespace,
        "pod": move.pod.name,
        "workload": move.owner.uid,
        "source": move.source,
        "at": NOW - ago,
        "state": "ready",
        "counted": limits.groups_to_note(move, WORLD),
    }
    return PastMove(**fields | more)


def code(allowed: MoveLimits, number: int, *earlier: int) -> str:
    refusal = allowed.overall_refusal(len(earlier)) or allowed.refusal(
        allowed.of_move(planned(number)),
        (allowed.of_move(planned(past_number)) for past_number in earlier),
    )
    return refusal.code if refusal else ""


def test_the_rows_are_the_fields_those_on_all_moves_first() -> None:
    assert [(row.field, row.code, row.within.name) for row in Limits.move_limits] == [
        ("movesPerCycle", "PAC001", "cycle"),
        ("movesPerHour", "PAC005", "hour"),
        ("movesPerDay", "PAC006", "day"),
        ("movesPerNode", "PAC002", "cycle"),
        ("movesPerNamespace", "PAC003", "cycle"),
        ("movesPerWorkload", "PAC004", "cycle"),
    ]
    assert [CATALOG[row.code].check for row in Limits.move_limits] == [
        "moves per cycle",
        "moves per hour",
        "moves per day",
        "moves per node",
        "moves per namespace",
        "moves per workload",
    ]
    allowed = MoveLimits(WORLD, Limits(), History(), NOW)
    assert allowed.codes == (
        "PAC007", "PAC001", "PAC005", "PAC006", "PAC002", "PAC003", "PAC004",
    )  # fmt: skip


def test_a_code_has_one_meaning() -> None:
    known = Limits.move_limits[0].reason
    register(known)
    with pytest.raises(ValueError, match="PAC001 has two meanings"):
        register(ReasonCode("PAC001", "Another.", ""))
    assert CATALOG["PAC001"] == known


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.noun or "all")
def test_a_pod_its_planned_and_its_past_move_are_in_one_group(scope: Scope) -> None:
    names, of_pods = scope.groups(WORLD)
    assert len(of_pods) == len(WORLD.pods)
    noted = {scope.noted_as: ""} if scope.noted_as else {}
    for number in range(len(WORLD.pods) - 1):
        move = planned(number)
        of_move = scope.of_move(move, WORLD)
        assert names[of_pods[number]] == of_move
        past = moved(number, Limits(), MINUTE, counted=dict.fromkeys(noted, of_move))
        assert scope.of_past(past) == of_move


row_amounts = st.one_of(st.integers(0, 4), st.sampled_from(["10%", "34%", "50%", "100%"]))


@given(data=st.data())
def test_limits_are_reached_as_a_plain_count_says(more: type[Limits], data: st.DataObject) -> None:
    """Of each row the moves in the same group and within the window count, planned or past."""
    rows = more.move_limits
    given = {row.field: data.draw(row_amounts, label=row.field) for row in rows[3:]}
    limits = more.model_validate({**WIDE, **given})
    pods = st.integers(0, len(WORLD.pods) - 2)
    ages = data.draw(st.lists(st.tuples(pods, st.integers(-5, 1500)), max_size=5), label="past")
    history = History([moved(number, limits, age * MINUTE) for number, age in ages])
    plan = data.draw(st.lists(pods, max_size=4, unique=True), label="plan")
    asked = data.draw(pods, label="asked")

    budgets = Budgets(WORLD, limits, history)
    for number in plan:
        budgets.spend(number)
    expected = ""
    for row in rows[3:]:
        _, of_pods = row.per.groups(WORLD)
        group = of_pods[asked]
        since = row.within.span or limits.cyclePeriod
        count = sum(of_pods[n] == group and age * MINUTE <= since for n, age in ages)
        count += sum(of_pods[n] == group for n in plan)
        # All pods of the world but the last run.
        most = pods_of_amount(limits.amount(row), int((of_pods[:-1] == group).sum()))
        if count >= most:
            expected = row.code
            break
    refusal = budgets.refusal(asked)
    assert (refusal.code if refusal else "") == expected
    assert code(MoveLimits(WORLD, limits, history, NOW), asked, *plan) == expected
    left = [int(left[of_pods[asked]]) for of_pods, left in budgets.groups()[: len(rows) - 3]]
    assert (min(left) <= 0) == bool(expected)
    for number in plan:
        budgets.release(number)
    assert [left.tolist() for _, left in budgets.groups()] == [
        left.tolist() for _, left in Budgets(WORLD, limits, history).groups()
    ]


def test_a_node_that_is_gone_or_has_another_label_now_gives_no_budget_back(
    more: type[Limits],
) -> None:
    limits = more.model_validate({**WIDE, "movesPerRackAndHour": 1})
    gone = moved(0, limits, 30 * MINUTE, source="gone")
    relabelled = moved(0, limits, 30 * MINUTE, source="n2")
    for past in (gone, relabelled):
        allowed = MoveLimits(WORLD, limits, History([past]), NOW)
        assert [code(allowed, number) for number in range(4)] == [RACK, RACK, "", ""]


def test_what_has_no_label_counts_together_also_where_it_is_empty(more: type[Limits]) -> None:
    limits = more.model_validate({**WIDE, "movesPerTeam": 1})
    allowed = MoveLimits(WORLD, limits, History([moved(2, limits, MINUTE)]), NOW)
    assert [code(allowed, number) for number in range(6)] == ["", "", TEAM, "", "", TEAM]
    refusal = allowed.refusal(allowed.of_pod(5))
    assert refusal is not None
    assert refusal.message.startswith("pods without label team: 1 move since")
    empty = moved(2, limits, MINUTE, counted={"pod label team": ""})
    assert code(MoveLimits(WORLD, limits, History([empty]), NOW), 5) == TEAM


def test_a_move_of_before_there_was_the_limit_counts_to_all_groups(more: type[Limits]) -> None:
    for name, codes in (
        ("movesPerRackAndHour", [RACK, RACK, "", ""]),
        ("movesPerTeam", ["", TEAM, "", ""]),
    ):
        limits = more.model_validate({**WIDE, name: 2})
        past = [moved(0, limits, MINUTE, counted={}), moved(1, limits, MINUTE)]
        allowed = MoveLimits(WORLD, limits, History(past), NOW)
        assert [code(allowed, number) for number in range(4)] == codes


def test_a_replacement_leaves_no_node_and_completes_a_move_of_its_workload(
    more: type[Limits],
) -> None:
    names = ("movesPerNode", "movesPerWorkload", "movesPerRackAndHour")
    limits = more.model_validate({**WIDE, **dict.fromkeys(names, 1)})
    past = moved(0, limits, MINUTE)
    allowed = MoveLimits(WORLD, limits, History([past]), NOW)
    assert allowed.refusal(allowed.of_replacement(past), follows=True) is None
    refusal = allowed.refusal(allowed.of_replacement(past))
    assert refusal is not None
    assert refusal.code == "PAC004"
    # Its own eviction is off no node, so it takes nothing of the node's rack either.
    freed = moved(0, limits, MINUTE, source="")
    assert code(MoveLimits(WORLD, limits, History([freed]), NOW), 6) == ""
    for name, said in (("movesPerTeam", TEAM), ("movesPerNamespace", "PAC003")):
        narrow = more.model_validate({**WIDE, name: 1})
        allowed = MoveLimits(WORLD, narrow, History([past]), NOW)
        refusal = allowed.refusal(allowed.of_replacement(past), follows=True)
        assert refusal is not None
        assert refusal.code == said


def test_the_pods_of_a_gang_are_one_move_to_its_workload_alone(more: type[Limits]) -> None:
    for name, said in (("movesPerWorkload", ""), ("movesPerTeam", TEAM)):
        limits = more.model_validate({**WIDE, name: 1})
        allowed = MoveLimits(WORLD, limits, History(), NOW)
        earlier = [allowed.of_move(planned(0))]
        refusal = allowed.refusal(allowed.of_move(planned(3)), earlier, follows=True)
        assert (refusal.code if refusal else "") == said
        assert bool(allowed.too_many([0, 3], gang=True)) == bool(said)
        assert allowed.too_many([0, 3])


def test_moves_of_what_the_snapshot_does_not_have_count_together() -> None:
    limits = Limits.model_validate({**WIDE, "movesPerNode": 1, "movesPerNamespace": 2})
    past = [moved(0, limits, MINUTE, source=name, namespace=name) for name in ("x", "y")]
    allowed = MoveLimits(WORLD, limits, History(past), NOW)
    elsewhere = planned(0, source="z")
    refusal = allowed.refusal(allowed.of_move(elsewhere))
    assert refusal is not None
    assert refusal.message.startswith("node (none): 2 moves since")
    # Namespaces are told apart by their names, which are known in any case.
    other = planned(0, pod=PodRef(namespace="x", name="p", uid="p"))
    assert allowed.refusal(allowed.of_move(other)) is None


def test_a_label_is_counted_in_its_window(more: type[Limits]) -> None:
    limits = more.model_validate({**WIDE, "movesPerRackAndHour": 1})
    for age, said in ((60, RACK), (61, "")):
        past = History([moved(0, limits, age * MINUTE)])
        assert code(MoveLimits(WORLD, limits, past, NOW), 1) == said
    # A plan's own moves count as of its cycle however long it takes, and not as of the hour.
    limits = more.model_validate({**WIDE, "movesPerRackAndHour": 1, "movesPerTeam": 1})
    own = History([moved(0, limits, 61 * MINUTE, plan="mine")])
    assert code(MoveLimits(WORLD, limits, own, NOW, "mine"), 4) == ""
    assert code(MoveLimits(WORLD, limits, own, NOW, "mine"), 3) == TEAM


def test_windows_grow_and_rows_with_one_scope_are_compared() -> None:
    spans = [window.span or MINUTE for window in WINDOWS]
    assert spans == sorted(spans)
    limits = Limits.model_validate({"movesPerHour": 60, "movesPerCycle": 70})
    pairs = [(short.field, long.field) for short, long in limits.contradictions()]
    assert pairs == [("movesPerCycle", "movesPerHour"), ("movesPerHour", "movesPerDay")]
    row = MoveLimit(PerNodeLabel("rack"), DAY, "PAC903", "movesPerRackAndDay")
    assert row != MoveLimit(PerNodeLabel("zone"), DAY, "PAC903", "movesPerRackAndDay")
    assert row.reason.sentence == (
        "Limit reached: moves in the last 24 hours (`movesPerRackAndDay`)."
    )
    assert HOUR != DAY


def test_pods_that_a_plan_counted_give_the_budgets_that_planning_spends() -> None:
    limits = Limits.model_validate(
        {"movesPerCycle": "30%", "movesPerNode": "50%", "movesPerNamespace": "40%"}
    )
    history = History(moves=[moved(7, limits, MINUTE), moved(0, limits, 120 * MINUTE)])
    counted = count_pods(WORLD, limits, history, [planned(2)])
    assert {(count.limit, count.group): count.pods for count in counted} == {
        ("movesPerCycle", ""): 12,
        ("movesPerNode", "n1"): 4,
        ("movesPerNode", "n2"): 2,
        ("movesPerNamespace", "default"): 6,
        ("movesPerNamespace", "shop"): 6,
    }
    rows = {row.limit: row for row in spent_budgets(history, limits, NOW, counted)}
    allowed = MoveLimits(WORLD, limits, history, NOW)
    assert rows["movesPerCycle"].remaining == allowed.remaining_moves(0) == 2
    remaining = dict(zip((row.field for row in allowed.rows), allowed.groups(), strict=True))
    for field in ("movesPerNode", "movesPerNamespace"):
        of_pods, most = remaining[field]
        assert rows[field].remaining == most[of_pods[7]] == 1


def test_limits_that_are_numbers_need_no_count_of_pods() -> None:
    assert count_pods(WORLD, Limits(), History(), [planned(2)]) == []

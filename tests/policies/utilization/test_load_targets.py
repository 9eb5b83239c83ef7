"""Utilization: its strategies, where pods may go, and what does not change the cost."""

from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from tests.picture import move, picture, proposed
from tests.policies.utilization.loaded_pictures import (
    COLD,
    COLD_LOADS,
    EVERYWHERE,
    altered,
    average_pod,
    bound,
    packed,
    packing,
)


def test_packing_frees_the_coldest_nodes_that_the_others_can_take_in() -> None:
    _, term = packed(packing())
    # n1 can take n2's 10% and n3's 20% in. The empty n4 is not to be woken up.
    assert term.cost() == 3
    assert [f.subject for f in term.findings()] == ["node n2", "node n3"]
    np.testing.assert_allclose(term.deltas(3, np.arange(4, dtype=np.int32)), [-1, 0, 0, 0])
    term.commit(Shift(3, 1, 0))
    assert term.cost() == 2
    term.commit(Shift(0, 0, 3))
    assert term.cost() == 3
    assert "was empty, and pods would be moved there" in [f.message for f in term.findings()][-1]


def test_packing_stops_where_the_others_are_full() -> None:
    _, term = packed(packing(targets={"cpu": {"high": "42%"}}))
    # n1 has room for one pod of 10% only.
    assert [f.subject for f in term.findings()] == ["node n2"]


def test_a_node_with_a_pod_that_may_not_move_is_not_freed() -> None:
    narrow = packing(match={"labels": {"matchLabels": {"app": "other"}}})
    assert packed(narrow)[1].cost() == 0


def test_balance_takes_down_what_is_far_above_theaverage_pod() -> None:
    even = packing(strategy="Balance", targets={"cpu": {"high": "90%"}}, tolerance="10%")
    _, term = packed(even)
    # The mean is 15%: n1 is above 25%, and is drained down to the mean; n3 is not.
    assert term.candidates().tolist() == [0, 1, 2]
    assert term.cost() == pytest.approx((0.15 + 0.05 + 0.05) / 2 * 8 / 0.8)
    calm = packing(strategy="Balance", targets={"cpu": {"high": "90%"}}, tolerance="20%")
    assert packed(calm)[1].candidates().tolist() == []


def test_a_node_above_the_mean_is_not_one_too_many_that_is_hot() -> None:
    """`maxHotShare` counts the nodes above `high` itself, not those above the mean."""
    even = packing(strategy="Balance", targets={"cpu": {"high": "90%"}}, tolerance="1%")
    before, term = packed(even)
    assert term.candidates().tolist() == [0, 1, 2, 4, 5]
    assert term.hot_nodes().tolist() == []
    assert planned_guards(before, even) == []
    low = packing(strategy="Balance", targets={"cpu": {"high": "15%"}}, tolerance="1%")
    before, term = packed(low)
    assert term.hot_nodes().tolist() == [0, 2]
    assert planned_guards(before, low) == ["GRD001"]


def planned_guards(before: Snapshot, policy: Utilization) -> list[str]:
    made = plan(before, policy_set([policy]), History(), mode="Enforce")
    return [guard.code for guard in made.guards]


def test_moves_between_large_and_small_nodes_keep_their_mean() -> None:
    even = packing(strategy="Balance", targets={"cpu": {"high": "90%"}}, tolerance="5%")
    text = "zone a | n1 cpu 16 | web web web\nzone a | n2 cpu 4 | web"
    loads = {"node.cpu": {"n1": "60%", "n2": "40%"}, "pod.cpu": {"web": 3.2}}
    before = picture(text, readings=loads, policies=[even])
    assert utilization_mean(before, even) == pytest.approx((9.6 + 1.6) / 20)


def utilization_mean(before: Snapshot, policy: Utilization) -> float:
    term = bound(before, policy)
    return float(term._limits[0, 0, 0] / term._capacity[0, 0])


def test_a_group_of_nodes_has_targets_of_its_own() -> None:
    group = {
        "nodes": {"matchLabels": {"kubernetes.io/hostname": "n3"}},
        "targets": {"cpu": {"high": "15%"}},
    }
    _, term = packed(packing(strategy="Relieve", groups=[group]))
    assert term.hot_nodes().tolist() == [2]


def test_pressure_counts_only_above_the_floor() -> None:
    target = {"high": "50%", "pressure": "20%", "floor": "25%"}
    policy = packing(strategy="Relieve", targets={"cpu": target})
    waits = {"node.cpu.pressure": {"n1": "40%", "n2": "90%", "n3": "1%", "n4": 0}}
    _, term = packed(policy, {**COLD_LOADS, **waits})
    assert term.hot_nodes().tolist() == [0]
    assert term.cost() == pytest.approx((0.30 - 0.25) * 8 / 0.8)
    assert "because tasks wait for it" in next(iter(term.findings())).message
    # Without pressure's reading the policy is not evaluated.
    assert isinstance(
        policy.compile(picture(COLD, readings=COLD_LOADS, policies=[policy])), Problem
    )


def test_room_is_what_the_peaks_leave() -> None:
    policy = packing(strategy="Relieve", headroom={}, targets={"cpu": {"high": "50%"}})
    peaks = {"node.cpu.peak": {"n1": "30%", "n2": "10%", "n3": "60%", "n4": None}}
    _, term = packed(policy.model_copy(update={"minCoverage": 0.5}), {**COLD_LOADS, **peaks})
    assert term.cost() == 0
    # n3 peaks at 60%: no room, though its mean is 20%. Of n4 no peak is known.
    assert term.overfills(0, EVERYWHERE).tolist() == [False, False, True, True]
    assert term.unknown_nodes().tolist() == [False, False, False, True]


def test_young_pods_count_by_their_requests_where_they_go() -> None:
    policy = packing(strategy="Relieve", targets={"cpu": {"high": "40%"}})
    before, _ = packed(policy)
    for pod in before.pods[:2]:
        pod.status.startTime = before.taken
        asked = pod.spec.containers[0].resources
        assert asked is not None
        asked.requests = {"cpu": "2"}
    young = np.array([True, True, *[False] * 4])
    [values] = [r.values for r in before.readings.entries if r.name == "pod.cpu"]
    before = altered(before, "pod.cpu", values=np.where(young, np.nan, values), expected=~young)
    term = bound(before, policy)
    # 85% of 2 cores each, not seen in n1's 30% yet: no room for another 10%.
    assert term.overfills(3, EVERYWHERE).tolist() == [True, False, False, False]
    assert term.overfills(0, EVERYWHERE).tolist() == [False, False, True, False]
    assert term.usage(0) == {}


# 90% is 45% above the middle of n2 and n3: wherever the pod goes, that node is then as hot.
NOWHERE = "zone a | n1 | web web\nzone a | n2 | web\nzone a | n3 | web"
NOWHERE_LOADS = {
    "node.cpu": {"n1": "90%", "n2": "45%", "n3": "45%"},
    "pod.cpu": {"web": 3.6},
}
BAND = {"strategy": "Relieve", "targets": {"cpu": {"high": "80%", "low": "70%"}}}


def test_a_hot_spot_that_fits_nowhere_stays() -> None:
    policy = packing(**BAND)
    before = picture(NOWHERE, readings=NOWHERE_LOADS, policies=[policy])
    np.testing.assert_allclose(
        bound(before, policy).deltas(0, EVERYWHERE[:3]), [0, 0, 0], atol=1e-12
    )
    assert proposed(before, policy, limits=Limits(maxHotShare=1.0)) == []


def test_load_between_low_and_high_costs_and_makes_nobody_leave() -> None:
    policy = packing(**BAND)
    loads = {"node.cpu": {"n1": "76%", "n2": "10%", "n3": 0, "n4": 0}, "pod.cpu": {"web": 2.0}}
    _, term = packed(policy, loads)
    assert term.cost() == pytest.approx(0.06 / 2 * 8 / 2.0)
    assert term.candidates().tolist() == []
    [finding] = term.findings()
    assert finding.message.startswith(
        "node.cpu is 76.0%, target 70% (no pod leaves unless it is above 80%)"
    )


def test_the_unit_is_the_same_wherever_the_pods_are() -> None:
    """The mean of those that may move and are not idle, hot or not."""
    text = "zone a | n1 | big small idle\nzone a | n2 | -"
    used = {"big": 4.0, "small": 1.0, "idle": 0.01}
    policy = packing(**BAND)

    def unit(load: str, swapped: bool) -> float:
        rows = text if not swapped else text.replace("n1 | big", "n1 |").replace("-", "big")
        readings = {"node.cpu": {"n1": load, "n2": "5%"}, "pod.cpu": used}
        return average_pod(bound(picture(rows, readings=readings, policies=[policy]), policy))

    assert unit("90%", False) == unit("20%", False) == unit("90%", True) == 2.5


TWO_POOLS = "zone a | n1 | web web\n| n2 | web\n| n3 | -"
TWO_LOADS: dict[str, Any] = {
    "node.cpu": {"n1": "95%", "n2": "70%", "n3": "20%"},
    "pod.cpu": {"web": 3.0},
}
ASKED = {"web": {"cpu": "1"}}
ZONED = {"labels": {"matchLabels": {"topology.kubernetes.io/zone": "a"}}}


@pytest.mark.parametrize(
    "more",
    [
        {"nodes": ZONED},
        {
            "targets": {"memory": {"high": "80%"}},
            "groups": [{"nodes": ZONED["labels"], "targets": {"cpu": {"high": "80%"}}}],
        },
    ],
)
def test_a_node_that_is_not_selected_is_not_filled_beyond_the_target(more: dict[str, Any]) -> None:
    targets = {"targets": {"cpu": {"high": "80%"}}, **more}
    policy = packing(strategy="Relieve", minCoverage="30%", **targets)
    memory: dict[str, Any] = {
        "node.memory": dict.fromkeys(["n1", "n2", "n3"], "10%"),
        "pod.memory": {"web": 1e9},
    }

    def drawn(**cpu: str | None) -> Snapshot:
        loads = {**memory, **TWO_LOADS, "node.cpu": {**TWO_LOADS["node.cpu"], **cpu}}
        return picture(TWO_POOLS, requests=ASKED, readings=loads, policies=[policy])

    before = drawn()
    term = bound(before, policy)
    assert term.overfills(0, EVERYWHERE[:3]).tolist() == [False, True, False]
    [only] = proposed(before, policy)
    assert only == move("web", "n1", "n3")
    assert proposed(drawn(n3="70%"), policy) == []
    unknown_load = drawn(n2=None, n3=None)
    assert bound(unknown_load, policy).overfills(0, EVERYWHERE[:3]).tolist() == [False, True, True]
    assert proposed(unknown_load, policy) == []


def test_balance_keeps_the_load_on_the_selected_nodes() -> None:
    policy = packing(strategy="Balance", nodes=ZONED, targets={"cpu": {"high": "90%"}})
    text = "zone a | n1 | web web\nzone a | n2 | -\n| n3 | -"
    loads = {"node.cpu": {"n1": "50%", "n2": "1%", "n3": "1%"}, "pod.cpu": {"web": 2.0}}
    before = picture(text, readings=loads, policies=[policy])
    assert bound(before, policy).overfills(0, EVERYWHERE[:3]).tolist() == [False, False, True]


def test_what_another_policy_overfills_is_charged_on_unselected_nodes() -> None:
    policy = packing(strategy="Relieve", nodes=ZONED, targets={"cpu": {"high": "99%"}})
    before = picture(
        TWO_POOLS,
        readings={
            "node.cpu": {"n1": "50%", "n2": "90%", "n3": "20%"},
            "pod.cpu": {"web": 2.0},
        },
        policies=[policy],
    )
    term = bound(before, policy)
    np.testing.assert_allclose(
        term.deltas(0, EVERYWHERE[:3]), [0, (0.9 + 0.25 - 1) * 8 / 2.0, 0], atol=1e-12
    )
    term.commit(Shift(0, 0, 1))
    [finding] = term.findings()
    assert finding.message == "node.cpu would be 115.0%, more than the node's capacity"

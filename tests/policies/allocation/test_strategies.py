"""Allocation by its strategies: deviation from the mean, and packing by what is requested."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.allocation.policy import Allocation
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.utilization.policy import Utilization
from tests.cases import every
from tests.picture import picture
from tests.planning.packing import FULL_FIRST, LIMITS

NOTE = "rescheduler.io/request-targets"
CPU: Any = [{"resource": "cpu", "target": "80%"}]


def allocation(**more: Any) -> Allocation:
    given = {"match": {"all": True}, "nodes": {"all": True}, "resources": CPU, **more}
    return Allocation(name="a", **given)


def nodes(drawn: str, **cpu: str) -> Snapshot:
    return picture(drawn, requests={app: {"cpu": amount} for app, amount in cpu.items()})


def planned(before: Snapshot, policy: Allocation) -> Plan:
    policies = policy_set([policy], LIMITS, (FULL_FIRST,))
    return plan(before, policies, History(), mode="Enforce")


def uneven() -> Snapshot:
    drawn = """
        zone a | n1 cpu 10 | web web web
        zone a | n2 cpu 10 | web
        zone a | n3 cpu 20 | web web
    """
    return nodes(drawn, web="2")


def test_with_balance_a_node_is_charged_above_the_mean_and_the_tolerance() -> None:
    # 12 of 40 cores are requested: 30%. n1 has 60%, and 40% cost nothing.
    made: Any = allocation(strategy="Balance", tolerance="10%").compile(uneven())
    assert made.cost() == pytest.approx((0.6 - 0.4) * 10 / 2)
    [finding] = made.findings()
    assert finding.subject == "node n1"
    assert "than the mean of 30% and the tolerance of 10%" in finding.message
    everywhere = np.arange(3, dtype=np.int32)
    assert made.deltas(0, everywhere).tolist() == pytest.approx([0.0, -1.0, -1.0])


def test_with_balance_a_resource_that_no_node_has_costs_nothing() -> None:
    unknown = [{"resource": "example.com/fpga", "target": "0%"}]
    made: Any = allocation(strategy="Balance", resources=unknown).compile(uneven())
    assert made.cost() == 0


def test_with_balance_a_lower_target_and_a_node_s_own_one_win() -> None:
    low = allocation(strategy="Balance", resources=[{"resource": "cpu", "target": "35%"}])
    made: Any = low.compile(uneven())
    assert made.cost() == pytest.approx((0.6 - 0.35) * 10 / 2)
    assert "than the target" in next(iter(made.findings())).message
    before = uneven()
    before.nodes[1].metadata.annotations = {NOTE: '{"cpu": "1"}'}
    even: Any = allocation(strategy="Balance").compile(before)
    assert even.cost() == pytest.approx((2 + 1) / 2)


def test_the_mean_is_that_of_the_selected_nodes() -> None:
    only = {"labels": {"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "n2"]}]}}  # fmt: skip
    made: Any = allocation(strategy="Balance", nodes=only).compile(uneven())
    # 8 of 20 cores, and 10% above.
    assert made.cost() == pytest.approx((0.6 - 0.5) * 10 / 2)


def cold() -> Snapshot:
    drawn = """
        zone a | n1 cpu 10 | web web web
        zone a | n2 cpu 10 | api dns
    """
    return nodes(drawn, web="2", api="1", dns="1")


def test_packing_frees_the_node_of_which_little_is_requested() -> None:
    made = planned(cold(), allocation(strategy="Pack"))
    assert sorted((move.owner.name, move.source) for move in made.moves) == [
        ("api", "n2"),
        ("dns", "n2"),
    ]
    assert {reason.code for move in made.moves for reason in move.reasons} == {"ALC004"}
    [result] = made.policies
    assert (result.cost.before, result.cost.after) == (2.0, 0.0)
    assert result.findings[0].message.startswith("little of it is requested, and the other nodes")
    assert made.counts == []
    assert made.guards == []


@pytest.mark.parametrize(
    "more",
    [
        {"cold": "20%"},  # n2 has just 20%
        {"resources": [{"resource": "cpu", "target": "70%"}]},  # n1 has room for 1 core
        {"resources": [*CPU, {"resource": "pods", "target": "1%"}]},
    ],
)
def test_packing_leaves_alone_what_is_not_cold_or_fits_nowhere(more: Any) -> None:
    assert planned(cold(), allocation(strategy="Pack", **more)).moves == []


def test_packing_obeys_a_nodes_own_target_and_skips_what_is_unread() -> None:
    before = cold()
    before.nodes[0].metadata.annotations = {NOTE: '{"cpu": "7"}'}
    assert planned(before, allocation(strategy="Pack")).moves == []
    before.nodes[0].metadata.annotations = {NOTE: "7"}
    made = planned(before, allocation(strategy="Pack"))
    assert made.moves == []
    assert "ALC003" in {note.code for note in made.notes}


def test_packing_by_requests_waits_as_long_as_a_finding_must_have_held() -> None:
    made = planned(cold(), allocation(strategy="Pack", stableFor="10m"))
    assert made.moves == []
    assert {refusal.code for refusal in made.refused} <= {"STB001", "STB002"}
    assert made.refused


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"balances": [{"resource": "cpu", "needs": "memory", "ratio": 1}]}, "has no `balances`"),
        ({"resources": []}, "at least one of resources, balances is required"),
    ],
)
def test_what_packing_cannot_do_is_refused(more: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        allocation(strategy="Pack", **more)


@every(
    [
        ({"cold": "20%"}, "strategy is Relieve, so cold has no effect"),
        ({"strategy": "Pack", "tolerance": "20%"}, "strategy is Pack, so tolerance has no effect"),
        ({"strategy": "Pack", "cold": 0}, "cold: no node has less than 0% requested"),
        ({"strategy": "Balance", "tolerance": "100%"}, "tolerance: no node is more than 100%"),
        (
            {"strategy": "Pack", "resources": [{"resource": "cpu", "weight": 2}]},
            "strategy is Pack, so resources.0.weight has no effect",
        ),
    ]
)
def test_what_has_no_effect_is_told(more: Any, said: str) -> None:
    assert any(message.startswith(said) for message in allocation(**more).without_effect())


def test_one_that_packs_what_another_kind_balances_is_told() -> None:
    even = Utilization.model_validate(
        {
            "name": "u",
            "kind": "Utilization",
            "nodes": {"all": True},
            "match": {"all": True},
            "strategy": "Balance",
            "targets": {"cpu": {"high": "80%"}},
        }
    )
    pack = allocation(strategy="Pack")
    assert "one packs the nodes that the other balances" in list(pack.conflicts(even))
    assert "one packs the nodes that the other balances" in list(even.conflicts(pack))

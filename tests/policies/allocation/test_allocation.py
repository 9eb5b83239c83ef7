"""Policy tests of Allocation: targets, the nodes' own targets, and balance."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.allocation.policy import Allocation
from rescheduler.policies.allocation.term import AllocationTerm
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match
from tests.cases import every
from tests.picture import picture

NOTE = "rescheduler.io/request-targets"


def allocation(**more: Any) -> Allocation:
    return Allocation(name="a", match=Match(all=True), nodes=NodeMatch(all=True), **more)


def term(policy: Allocation, before: Snapshot) -> AllocationTerm:
    made = policy.compile(before)
    assert isinstance(made, AllocationTerm)
    return made


def two_nodes() -> Snapshot:
    return picture(
        """
        zone a | n1 cpu 10 | big small
        zone a | n2 cpu 10 | -
    """,
        requests={"big": {"cpu": "6"}, "small": {"cpu": "2"}},
    )


def test_what_is_above_the_target_costs_in_average_pods() -> None:
    made = term(allocation(resources=[{"resource": "cpu", "target": 0.5}]), two_nodes())
    assert made.cost() == pytest.approx(3 / 4)
    assert made.worst() == pytest.approx(2 * 5 / 4)
    nodes = np.array([0, 1], dtype=np.int32)
    assert made.deltas(0, nodes).tolist() == pytest.approx([0, -3 / 4 + 1 / 4])
    assert made.deltas(1, nodes).tolist() == pytest.approx([0, -2 / 4])
    [finding] = made.findings()
    assert (finding.code, finding.subject, finding.pods) == ("ALC001", "node n1", (0, 1))
    assert finding.message.startswith("3 more of cpu is requested than the target")


def test_a_node_s_own_target_wins() -> None:
    before = two_nodes()
    before.nodes[0].metadata.annotations = {NOTE: '{"cpu": "7500m"}'}
    made = term(allocation(resources=[{"resource": "cpu", "target": 0.1}]), before)
    assert made.cost() == pytest.approx(0.5 / 4)


@every(["", "7", '{"cpu": 7}', '{"cpu": "much"}', '{"cpu": "-1"}', "[]"])
def test_a_node_whose_targets_cannot_be_read_is_left_out(text: str) -> None:
    before = two_nodes()
    before.nodes[0].metadata.annotations = {NOTE: text}
    made = term(allocation(resources=[{"resource": "cpu", "target": 0.1}]), before)
    assert (made.cost(), made.scope()) == (0, 1)
    assert made.candidates().tolist() == []
    [warning] = made.warnings()
    assert warning.code == "ALC003"
    assert "1 node (n1)" in warning.message


def test_what_is_free_without_what_it_needs_costs() -> None:
    before = picture(
        """
        zone a | n1 gpu 2 cpu 8 | web
        zone a | n2 cpu 8       | -
    """,
        requests={"web": {"cpu": "4"}},
    )
    balance = {"resource": "nvidia.com/gpu", "needs": "cpu", "ratio": 4}
    made = term(allocation(balances=[balance]), before)
    assert made.cost() == pytest.approx(1.0)
    assert made.deltas(0, np.array([1], dtype=np.int32)).tolist() == pytest.approx([-1.0])
    [finding] = made.findings()
    assert finding.code == "ALC002"
    assert finding.message.startswith("nvidia.com/gpu is free for which 4 of cpu is missing")


@every(
    [
        {},
        {"resources": [{"resource": "cpu"}, {"resource": "cpu"}]},
        {"balances": [{"resource": "cpu", "needs": "cpu", "ratio": 1}]},
        {"resources": [{"resource": "cpu", "target": 1.5}]},
    ]
)
def test_nonsense_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        allocation(**more)


def test_a_target_of_all_is_said_to_have_no_effect() -> None:
    [said] = allocation(resources=[{"resource": "cpu"}]).without_effect()
    assert said.startswith("the target of cpu is 100%")

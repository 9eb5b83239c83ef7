"""Utilization, in policy tests."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.terms import Loaded, Warns
from rescheduler.policies.utilization.policy import Utilization
from tests.cases import every
from tests.picture import move, picture, proposed, workloads
from tests.policies.utilization import loaded_pictures
from tests.policies.utilization.loaded_pictures import altered

GPU = {"train": {"nvidia.com/gpu": "1"}, "serve": {"nvidia.com/gpu": "1"}}

FIVE = """
    zone a | n1 gpu 8 | train train train
    zone a | n2 gpu 8 | serve serve
    zone a | n3 gpu 8 | -
    zone a | n4 gpu 8 | -
    zone a | n5 gpu 8 | -
"""
FIVE_HOT: dict[str, Any] = {
    "node.gpu": {"n1": "90%", "n2": "20%", "n3": 0, "n4": 0, "n5": 0},
    "pod.gpu": {"train": 2.4, "serve": 0.8},
}


def utilization(high: str = "80%", low: str = "70%", **spec: Any) -> Utilization:
    given = {
        "nodes": {"all": True},
        "match": {"all": True},
        "targets": {"gpu": {"high": high, "low": low}},
        "wholeDevices": "Count",
        **spec,
    }
    return Utilization(name="u", **given)


def bound(before: Snapshot, policy: Utilization | None = None) -> UtilizationTerm:
    return loaded_pictures.bound(before, policy or utilization())


def five(policy: Utilization | None = None, **changed: Mapping[str, Any]) -> Snapshot:
    readings = {
        name: {**values, **changed.get(name.split(".")[0], {})} for name, values in FIVE_HOT.items()
    }
    return picture(FIVE, requests=GPU, readings=readings, policies=[policy or utilization()])


def test_a_hot_node_gives_a_pod_to_a_cool_one() -> None:
    [only] = proposed(five(), utilization())
    assert only.workload == "train"
    assert only.source == "n1"
    assert only.destination != "n1"


def test_it_is_drained_to_low_and_no_further() -> None:
    roomy = Limits(movesPerNode=9, movesPerWorkload=9, inFlightPerWorkload=9, movesPerNamespace=9)
    assert len(proposed(five(), utilization("80%", "70%"), limits=roomy)) == 1
    assert len(proposed(five(), utilization("80%", "35%"), limits=roomy)) == 2
    assert proposed(five(), utilization("95%", "10%"), limits=roomy) == []


def test_the_cost_is_in_average_pods() -> None:
    term = bound(five())
    # Above 70% counts half and above 80% in full; a pod uses 8.8 / 5 GPUs on average.
    assert term.cost() == pytest.approx((0.2 + 0.1) / 2 * 8 / 1.76)
    assert term.hot_nodes().tolist() == [0]
    assert term.scope() == 5
    assert term.worst() > term.cost()
    [finding] = term.findings()
    assert finding.subject == "node n1"
    assert finding.message.startswith("node.gpu is 90.0%, target 70% (hot above 80%)")
    assert finding.pods == (0, 1, 2)


def test_load_follows_the_pod_in_the_working_copy() -> None:
    term = bound(five())
    term.commit(Shift(0, 0, 2))
    after = term.load_after()["node.gpu"]
    np.testing.assert_allclose(after, [0.6, 0.2, 0.3, 0, 0])
    assert term.cost() == 0
    assert term.hot_nodes().tolist() == [0]
    assert term.usage(0) == {"pod.gpu": 2.4}


def test_only_matched_pods_are_candidates() -> None:
    before = picture(
        "zone a | n1 gpu 8 | train serve\nzone a | n2 gpu 8 | -",
        requests=GPU,
        readings={"node.gpu": {"n1": "90%", "n2": 0}, "pod.gpu": {"train": 3.6, "serve": 3.6}},
    )
    narrow = utilization(match={"labels": {"matchLabels": {"app": "serve"}}})
    assert workloads(before, bound(before, narrow).candidates()) == ["serve"]
    assert workloads(before, bound(before).candidates()) == ["serve", "train"]


def test_only_selected_nodes_are_evaluated() -> None:
    cold = utilization(nodes={"labels": {"matchLabels": {"kubernetes.io/hostname": "n2"}}})
    term = bound(five(), cold)
    assert (term.cost(), term.scope()) == (0, 1)


def test_a_node_without_a_value_is_neither_left_nor_landed_on() -> None:
    policy = utilization(minCoverage="80%")
    term = bound(five(policy, node={"n3": None}), policy)
    assert isinstance(term, Loaded)
    assert term.unknown_nodes().tolist() == [False, False, True, False, False]
    change = term.deltas(0, np.arange(5, dtype=np.int32))
    assert change[3] < 0
    assert change[2] >= 0
    assert np.isnan(term.load_after()["node.gpu"][2])
    assert isinstance(term, Warns)
    [warning] = term.warnings()
    assert warning.code == "RDG003"
    assert "n3" in warning.message


def test_a_pod_without_a_value_is_no_candidate_and_carries_no_gain() -> None:
    policy = utilization(minCoverage="50%")
    before = picture(
        "zone a | n1 gpu 8 | train serve\nzone a | n2 gpu 8 | -",
        requests=GPU,
        readings={"node.gpu": {"n1": "85%", "n2": 0}, "pod.gpu": {"train": 6.4, "serve": None}},
        policies=[policy],
    )
    term = bound(before, policy)
    assert workloads(before, term.candidates()) == ["train"]
    assert term.deltas(1, np.array([1], dtype=np.int32)).tolist() == [0]
    assert term.usage(1) == {}


def test_pods_that_do_not_explain_their_node_are_not_blamed() -> None:
    before = picture(
        "zone a | n1 gpu 8 | train\nzone a | n2 gpu 8 | -",
        requests={"train": GPU["train"]},
        readings={"node.gpu": {"n1": "90%", "n2": 0}, "pod.gpu": {"train": 2.0}},
    )
    term = bound(before)
    assert term.cost() > 0
    assert len(term.candidates()) == 0
    assert (term.deltas(0, np.array([0, 1], dtype=np.int32)) >= 0).all()
    [warning] = term.warnings()
    assert warning.code == "RDG010"
    assert "n1" in warning.message
    assert proposed(before, utilization(), limits=Limits(maxHotShare=1.0)) == []


def test_a_system_may_use_some_cpu_itself() -> None:
    cpu = utilization(targets={"cpu": {"high": "80%"}})
    text = "zone a | n1 | web web\nzone a | n2 | -"

    def candidates(usage: float) -> int:
        readings = {"node.cpu": {"n1": "90%", "n2": 0}, "pod.cpu": {"web": usage}}
        return len(bound(picture(text, readings=readings), cpu).candidates())

    assert candidates(2.5) == 2  # 5 of 7.2 cores are the pods'
    assert candidates(1.0) == 0  # most of the load is nobody's
    assert candidates(4.5) == 0  # the pods use more than the node


def test_the_fuller_direction_counts_and_only_once() -> None:
    network = utilization(targets={"network": {"high": "50%"}})
    before = picture(
        "zone a | n1 | cache cache\nzone a | n2 | -",
        readings={
            "node.network.receive": {"n1": "60%", "n2": 0},
            "node.network.transmit": {"n1": "80%", "n2": 0},
            "pod.network.receive": {"cache": 3.75e8},
            "pod.network.transmit": {"cache": 5e8},
        },
    )
    term = bound(before, network)
    assert term.cost() == pytest.approx(0.3 * 1.25e9 / 5e8)
    [finding] = term.findings()
    assert finding.message.startswith("node.network.transmit is 80.0%")


@every(
    [
        ("node.gpu", {"problem": Problem("RDG002", "a shard is down")}, "RDG002", "shard is down"),
        ("pod.gpu", {"problem": Problem("RDG009", "no such metric")}, "RDG009", "pod.gpu"),
        ("node.gpu", {"capacity": None}, "RDG006", "capacity of a node"),
        ("node.gpu", {"values": np.zeros(3)}, "RDG006", "3 values for 5"),
        ("node.gpu", {"values": np.full(5, np.inf)}, "RDG003", "0 of 5 nodes"),
        ("node.gpu", {"values": np.full(5, 9500.0)}, "RDG003", "0 of 5 nodes"),
        ("node.gpu", {"ages": np.full(5, 181.0)}, "RDG003", "0 of 5 nodes"),
        ("pod.gpu", {"values": np.full(5, -1.0)}, "RDG003", "0 of 5 pods"),
    ]
)
def test_unfit_readings_leave_the_policy_not_evaluated(
    name: str, fields: dict[str, Any], code: str, part: str
) -> None:
    problem = utilization().compile(altered(five(), name, **fields))
    assert isinstance(problem, Problem)
    assert problem.code == code
    assert part in problem.message


def test_readings_of_another_window_do_not_count() -> None:
    problem = utilization(window="10m").compile(five())
    assert isinstance(problem, Problem)
    assert (problem.code, "600 s" in problem.message) == ("RDG007", True)


def test_it_asks_for_node_and_pods_of_every_target() -> None:
    policy = utilization(
        targets={"network": {"high": 0.5}, "gpuMemory": {"high": 0.5}}, window="2m"
    )
    assert [request.name for request in policy.requests()] == [
        "node.gpu.memory",
        "pod.gpu.memory",
        "node.network.receive",
        "pod.network.receive",
        "node.network.transmit",
        "pod.network.transmit",
    ]
    assert {
        (request.window, request.max_age, request.min_coverage) for request in policy.requests()
    } == {(120.0, 180.0, 0.9)}


def test_moving_a_pod_cannot_make_another_node_hot_for_gain() -> None:
    before = picture(
        "zone a | n1 gpu 8 | train\nzone a | n2 gpu 8 | serve",
        requests=GPU,
        readings={
            "node.gpu": {"n1": "90%", "n2": "70%"},
            "pod.gpu": {"train": 7.2, "serve": 5.6},
        },
    )
    assert bound(before).deltas(0, np.array([1], dtype=np.int32))[0] > 0
    assert proposed(before, utilization(), limits=Limits(maxHotShare=1.0)) == []


def test_move_is_a_plain_tuple() -> None:
    assert move("web", "n1", "n2") == ("web", "n1", "n2")


def test_idle_pods_do_not_make_the_unit_tiny() -> None:
    before = picture(
        "zone a | n1 | web\nzone a | n2 | -",
        readings={"node.cpu": {"n1": "90%", "n2": 0}, "pod.cpu": {"web": 1e-12}},
    )
    cpu = utilization(targets={"cpu": {"high": "80%"}})
    assert bound(before, cpu).cost() == pytest.approx(0.1 / 0.001)


@pytest.mark.parametrize("low", ["60%", "50%"])
def test_a_move_and_its_return_leave_nothing_behind(low: str) -> None:
    """0.6 + 0.5 - 0.5 is more than 0.6, but no load."""
    policy = utilization(targets={"cpu": {"high": "60%", "low": low}})
    readings = {"node.cpu": {"n1": 0.5, "n2": 0.6}, "pod.cpu": {"web": 0.5, "api": 0.6}}
    drawn = """
        zone a | n1 cpu 1 | web
        zone a | n2 cpu 1 | api
    """
    term = bound(picture(drawn, readings=readings, policies=[policy]), policy)
    found = [finding.subject for finding in term.findings()]
    assert term.candidates().tolist() == []
    for shift in (Shift(0, 0, 1), Shift(0, 1, 0)):
        term.commit(shift)
    assert term.candidates().tolist() == []
    assert [finding.subject for finding in term.findings()] == found

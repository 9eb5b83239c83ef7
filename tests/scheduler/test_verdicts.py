from typing import Any

import numpy as np

from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugins.default_plugins import WEIGHTS
from tests.cluster import controller, node, pod, snapshot
from tests.scheduler.random_clusters import snapshots
from tests.scheduler.test_properties import given


def test_each_filter_says_what_it_rejects_alone_and_first() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    nodes = [
        node("both", taints=[taint], allocatable={"cpu": "0"}),
        node("small", allocatable={"cpu": "0"}),
        node("good"),
    ]
    told = SchedulerModel(snapshot(nodes, [pod("p")])).verdicts(0)
    by_name = {each.name: each for each in told.filters}
    assert list(by_name) == ["TaintToleration", "NodeResourcesFit"]
    assert by_name["NodeResourcesFit"].rejects.tolist() == [True, True, False]
    assert by_name["NodeResourcesFit"].first.tolist() == [False, True, False]
    assert told.feasible.tolist() == [False, False, True]
    assert told.state == "gone"


def test_a_replacement_that_waits_is_told_in_the_state_that_it_waits_for() -> None:
    owner = controller("ReplicaSet", "r")
    mine = pod("p", "a", owner=owner, requests={"cpu": "5"})
    told = SchedulerModel(snapshot([node("a")], [mine])).verdicts(0)
    assert told.state == "gone"
    assert told.feasible.tolist() == [True]


def test_what_is_refused_is_told_by_its_landing_alone() -> None:
    made = snapshot([node("a")], [pod("p", "a", schedulerName="other")])
    told = SchedulerModel(made).verdicts(0)
    assert told.landing.refusal is not None
    assert told.filters == ()
    assert told.scores == ()
    assert not told.feasible.any()


@given(snapshots())
def test_points_explain_the_landing(made: Any) -> None:
    model = SchedulerModel(made)
    for number in range(len(made.pods)):
        told = model.verdicts(number)
        landing = told.landing
        rejected = {each.name: int(each.first.sum()) for each in told.filters if each.first.any()}
        assert rejected == landing.rejections
        assert sum(rejected.values()) == np.count_nonzero(~told.feasible)
        for each in told.scores:
            assert each.weight == WEIGHTS[each.name]
            assert (each.points >= 0).all()
            assert (each.points <= 100 * each.weight).all()
            assert not each.points[~told.feasible].any()
        if told.feasible.any():
            best = told.total[told.feasible].max()
            winners = np.flatnonzero(told.feasible & (told.total == best))
            assert sorted(landing.nodes.tolist()) == winners.tolist()

from typing import Any

import numpy as np

from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugins.default_plugins import WEIGHTS
from tests.cluster import controller, node, pod, snapshot
from tests.scheduler.drawn import given
from tests.scheduler.random_clusters import snapshots


def test_each_filter_says_what_it_rejects_alone_and_first() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    nodes = [
        node("both", taints=[taint], allocatable={"cpu": "0"}),
        node("small", allocatable={"cpu": "0"}),
        node("good"),
    ]
    reported = SchedulerModel(snapshot(nodes, [pod("p")])).verdicts(0)
    by_name = {verdict.name: verdict for verdict in reported.filters}
    assert list(by_name) == ["TaintToleration", "NodeResourcesFit"]
    assert by_name["NodeResourcesFit"].rejects.tolist() == [True, True, False]
    assert by_name["NodeResourcesFit"].first.tolist() == [False, True, False]
    assert reported.feasible.tolist() == [False, False, True]
    assert reported.state == "gone"


def test_a_waiting_replacement_is_reported_in_the_state_it_waits_for() -> None:
    owner = controller("ReplicaSet", "r")
    mine = pod("p", "a", owner=owner, requests={"cpu": "5"})
    reported = SchedulerModel(snapshot([node("a")], [mine])).verdicts(0)
    assert reported.state == "gone"
    assert reported.feasible.tolist() == [True]


def test_what_is_refused_is_reported_by_its_landing_alone() -> None:
    made = snapshot([node("a")], [pod("p", "a", schedulerName="other")])
    reported = SchedulerModel(made).verdicts(0)
    assert reported.landing.refusal is not None
    assert reported.filters == ()
    assert reported.scores == ()
    assert not reported.feasible.any()


@given(snapshots())
def test_points_explain_the_landing(made: Any) -> None:
    model = SchedulerModel(made)
    for number in range(len(made.pods)):
        reported = model.verdicts(number)
        landing = reported.landing
        rejected = {
            verdict.name: int(verdict.first.sum())
            for verdict in reported.filters
            if verdict.first.any()
        }
        assert rejected == landing.rejections
        assert sum(rejected.values()) == np.count_nonzero(~reported.feasible)
        for score in reported.scores:
            assert score.weight == WEIGHTS[score.name]
            assert (score.points >= 0).all()
            assert (score.points <= 100 * score.weight).all()
            assert not score.points[~reported.feasible].any()
        if reported.feasible.any():
            best = reported.total[reported.feasible].max()
            winners = np.flatnonzero(reported.feasible & (reported.total == best))
            assert sorted(landing.nodes.tolist()) == winners.tolist()

"""kube-scheduler before 1.35 may place a replacement before it hears that the old pod goes.

PodTopologySpread then still counts that one, and where it is gone already, everything does:
landings are a mixture of both.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.model.moves.move import Landing
from rescheduler.scheduler.landings import mix_landings
from rescheduler.scheduler.model import LATE, SchedulerModel
from tests.cluster import controller, node, pod, snapshot

HOST = "kubernetes.io/hostname"
WEB = {"app": "web"}


def old_and_sibling(when: str, kind: str = "ReplicaSet", skew: int = 1) -> Snapshot:
    """The old pod on `a`, which is the emptier node, and a sibling on `b`."""
    constraint = {
        "maxSkew": skew,
        "topologyKey": HOST,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": WEB},
    }
    spec: dict[str, Any] = {
        "labels": WEB,
        "owner": controller(kind, "o"),
        "topologySpreadConstraints": [constraint],
    }
    nodes = [node(name, labels={HOST: name}) for name in "abc"]
    return snapshot(
        nodes,
        [
            pod("old", "a", **spec),
            pod("sibling", "b", **spec),
            pod("busy", "b", requests={"cpu": "1"}),
            pod("busier", "c", requests={"cpu": "3"}),
        ],
    )


def landing(made: Snapshot, version: str) -> Landing:
    made = replace(made, cluster=Cluster(uid="1", version=version))
    return SchedulerModel(made).landing(0)


def shares(found: Landing) -> dict[int, float]:
    assert found.refusal is None
    return dict(zip(found.nodes.tolist(), found.probabilities.tolist(), strict=True))


@pytest.mark.parametrize("when", ["ScheduleAnyway", "DoNotSchedule"])
def test_both_landings_are_possible_before_1_35(when: str) -> None:
    made = old_and_sibling(when)
    assert shares(landing(made, "v1.35.4")) == {0: 1.0}
    found = landing(made, "v1.34.4")
    assert shares(found) == pytest.approx({0: 1.0 - LATE, 2: LATE})
    assert found.nodes.tolist() == [0, 2], "the likeliest first"
    assert found.returns == pytest.approx(1.0 - LATE)


def test_one_that_is_gone_may_still_seem_to_be_there() -> None:
    nodes = [node("a"), node("b")]
    large = {"cpu": "2", "memory": "8Gi"}
    pods = [
        pod("old", "a", owner=controller("StatefulSet", "o"), requests=large),
        pod("busy", "b", requests={"cpu": "1", "memory": "4Gi"}),
    ]
    made = snapshot(nodes, pods)
    assert shares(landing(made, "v1.35.4")) == {0: 1.0}
    found = landing(made, "v1.34.4")
    assert shares(found) == pytest.approx({0: 1.0 - LATE, 1: LATE})
    assert shares(landing(made, "v1.34.4")) == shares(found), "all is as it was"


def test_a_terminating_pod_that_is_gone_unheard_is_not_counted() -> None:
    made = old_and_sibling("ScheduleAnyway", "StatefulSet")
    assert shares(landing(made, "v1.34.4")) == shares(landing(made, "v1.35.4")) == {0: 1.0}


def test_where_it_finds_no_node_it_tries_again_when_it_has_heard() -> None:
    made = old_and_sibling("DoNotSchedule")
    others = [replace_unschedulable(node) for node in made.nodes[1:]]
    made = replace(made, nodes=[made.nodes[0], *others])
    assert shares(landing(made, "v1.34.4")) == shares(landing(made, "v1.35.4")) == {0: 1.0}


def replace_unschedulable(node: Any) -> Any:
    node.spec.unschedulable = True
    return node


def test_what_it_hears_late_is_forgotten_when_the_next_pod_is_asked_about() -> None:
    made = replace(old_and_sibling("ScheduleAnyway"), cluster=Cluster(uid="1", version="v1.34.4"))
    model = SchedulerModel(made)
    first, again = model.landing(0), model.landing(0)
    assert shares(first) == shares(again)
    assert model.occupancy.heard
    assert model.feasible(0).tolist() == [True, True, True]


def test_a_mixture_sums_to_one_over_the_nodes_of_both() -> None:
    usual = Landing(np.array([4, 1], dtype=np.int32), np.array([0.7, 0.3]), returns=0.3)
    rare = Landing(np.array([1, 2], dtype=np.int32), np.array([0.5, 0.5]), returns=0.5)
    found = mix_landings(usual, rare, 0.1)
    assert shares(found) == pytest.approx({4: 0.63, 1: 0.32, 2: 0.05})
    assert found.nodes.tolist() == [4, 1, 2]
    assert found.returns == pytest.approx(0.32)
    assert mix_landings(usual, usual, 0.1) is usual

"""Moves that make room for each other: each is held against targets as those before leave it."""

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import PressedTarget, Targets
from tests.picture import picture

POLICY = Utilization(
    name="u",
    match=Match(all=True),
    nodes=NodeMatch(all=True),
    targets=Targets(cpu=PressedTarget(high=0.8)),
)
FREE = Limits(movesPerNamespace=9, movesPerNode=9, movesPerWorkload=9, gainShare=0.0, minReplicas=1)


def test_a_pod_may_go_where_the_one_that_leaves_before_it_makes_room() -> None:
    """n1 is hot; n2 has no room for `big` until `small` has left it for n3."""
    before = picture(
        "zone a | n1 | big other\n| n2 | small rest\n| n3 | -",
        requests={
            "big": {"cpu": "4"},
            "other": {"cpu": "4"},
            "small": {"cpu": "4"},
            "rest": {"cpu": "1"},
        },
        readings={
            "node.cpu": {"n1": "95%", "n2": "62.5%", "n3": "20%"},
            "pod.cpu": {"big": 3.8, "other": 3.8, "small": 4.0, "rest": 1.0},
        },
        policies=[POLICY],
    )
    copy = WorkingCopy(before, [POLICY], FREE, History())
    [binding] = copy.bindings
    there = np.array([1], dtype=np.int32)
    big, small = (before.pod_index[uid] for uid in _uids(before, "big", "small"))
    assert binding.overfills(big, there)[0]
    found = Evaluator(copy).evaluate((small, big))
    assert found.refusal is None
    assert [move.destination for move in found.moves] == [2, 1]
    assert found.gain == pytest.approx(0.38, abs=0.01)
    assert binding.overfills(big, there)[0], "evaluating leaves the working copy as it was"


def _uids(before: Snapshot, *apps: str) -> list[str]:
    pods = before.pods
    return [
        next(pod.metadata.uid for pod in pods if (pod.metadata.labels or {})["app"] == app)
        for app in apps
    ]

"""Where a replacement would be too much for its node: nothing is gained there, and none is sent."""

from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Landing
from rescheduler.planning.evaluation.destinations import refuse_counted
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import PressedTarget, Targets
from tests.picture import picture

LOOKED_AT: Any = {"labels": {"matchLabels": {"topology.kubernetes.io/zone": "a"}}}
POLICY = Utilization(
    name="u",
    nodes=LOOKED_AT,
    match=Match(all=True),
    targets=Targets(cpu=PressedTarget(high=0.8)),
)


def cluster(load: str) -> Snapshot:
    """n1 is hot; n2 and n3 are as good to the scheduler, and no policy selects them."""
    return picture(
        "zone a | n1 | web web\n| n2 | -\n| n3 | -",
        requests={"web": {"cpu": "1"}},
        readings={"node.cpu": {"n1": "95%", "n2": load, "n3": "20%"}, "pod.cpu": {"web": 3.0}},
        policies=[POLICY],
    )


def copy_of(before: Snapshot) -> WorkingCopy:
    return WorkingCopy(before, [POLICY], Limits(), History())


def test_what_would_be_gained_on_a_full_node_does_not_count() -> None:
    both, one = (Evaluator(copy_of(cluster(load))).evaluate((0,)) for load in ("20%", "70%"))
    assert (both.refusal, one.refusal) == (None, None)
    assert one.gain == pytest.approx(both.gain / 2)
    assert one.moves[0].destination == 2


@pytest.mark.parametrize(("destination", "code"), [(1, "FEA003"), (2, None)])
def test_no_move_is_planned_to_a_node_that_it_would_fill(
    destination: int, code: str | None
) -> None:
    space = copy_of(cluster("70%"))
    landing = Landing(
        nodes=np.array([1, 2], dtype=np.int32),
        probabilities=np.array([0.6, 0.4]),
        returns=0.0,
        unschedulable=0.0,
        rejections={},
    )
    evaluation = Evaluation(0, 0, destination=destination, gains={"u": 0.2}, landing=landing)
    refusal = refuse_counted(
        space.snapshot, landing, evaluation, list(space.bindings), space.eligibility
    )
    assert (refusal.code if refusal else None) == code
    if refusal:
        assert "n2, which has no room for it by the targets of u" in refusal.message

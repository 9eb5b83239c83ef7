"""Where of several required nodes the scheduler takes a bad one, the best alone is preferred."""

from collections.abc import Sequence

import pytest

from rescheduler.model.moves.calibration import (
    LandingRecord,
    WorkloadLandings,
    scheduler_version,
)
from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.locality.policy import Locality
from tests.picture import picture
from tests.planning.evaluation.steered import steered


def gathering(
    strength: str,
    planned: Sequence[int] | None = None,
    *,
    landed: tuple[int, int] = (0, 0),
    least: float = 0.8,
) -> Evaluation:
    """`web` belongs to `db`, on the fullest node; the scheduler likes every other one better.

    A little of it could be had on n1, too, where one pod of five is. landed: how many replacements
    were compared, and how many of them landed as predicted. least: minLandingHitRate.
    """
    made = picture("""
        zone a | n0 | web idle
        zone a | n1 | db idle
        zone a | n2 | db db db db idle idle idle idle idle idle
        zone a | n3 | -
    """)
    policy = Locality.model_validate(
        {
            "name": "near",
            "match": {"all": True},
            "pairs": [
                {
                    "pods": {"labels": {"matchLabels": {"app": "db"}}},
                    "near": {"labels": {"matchLabels": {"app": "web"}}},
                }
            ],
            "levels": [{"name": "host", "labels": ["kubernetes.io/hostname"]}],
        }
    )
    limits = steered(strength=strength, minReplicas=1, gainShare=0, minLandingHitRate=least)
    version, (compared, within) = scheduler_version(made.cluster.version), landed
    record = LandingRecord(
        kind="ReplicaSet", version=version, compared=compared, weight=compared, within=within
    )
    for number in range(compared):
        landed_well = float(number < within)
        record.workloads[str(number)] = WorkloadLandings("default", made.taken, landed_well)
    copy = WorkingCopy(made, [policy], limits, History(landings=[record]))
    (web,) = (n for n, each in enumerate(made.pods) if each.metadata.name.startswith("web"))
    evaluator = Evaluator(copy)
    if planned is not None:
        evaluator.chooser.planned[web] = planned
    found = evaluator.evaluate((web,))
    assert found.refusal is None, found.refusal
    return found.moves[0]


def test_the_best_node_is_preferred_where_of_several_the_scheduler_takes_one_far_worse() -> None:
    move = gathering("Require")
    assert move.choice is not None
    assert move.choice.strength == "Prefer"
    assert move.choice.nodes.tolist() == [2]
    assert move.destination == 2
    assert move.gain == pytest.approx(gathering("Prefer").gain)
    kept = gathering("Require", planned=[2])
    assert kept.choice is not None
    assert (kept.choice.strength, kept.choice.nodes.tolist()) == ("Prefer", [2])
    both = gathering("Require", planned=[2, 1])
    assert both.choice is not None
    assert both.choice.strength == "Require", "what a plan has chosen is kept as it is"


@pytest.mark.parametrize(
    ("landed", "least", "strength"),
    [
        ((40, 36), 0.8, "Prefer"),
        ((40, 8), 0.1, "Require"),
        ((19, 0), 0.8, "Prefer"),  # too few are compared: what must be at least counts
        ((19, 19), 0.2, "Require"),
    ],
)
def test_how_often_landings_are_kept_decides_whether_one_node_is_preferred(
    landed: tuple[int, int], least: float, strength: str
) -> None:
    """The set gains a quarter of the best node for sure, and a preference may be missed."""
    move = gathering("Require", landed=landed, least=least)
    assert move.choice is not None
    assert move.choice.strength == strength

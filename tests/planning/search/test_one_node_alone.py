"""Of several required nodes the best is preferred, so that the scheduler takes it."""

from collections.abc import Sequence

import pytest

from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.locality.policy import Locality
from tests.picture import picture
from tests.planning.evaluation.steered import steered


def gathering(strength: str, planned: Sequence[int] | None = None) -> Evaluation:
    """`web` belongs to `db`, on the fullest node; the scheduler likes every other one better.

    A little of it could be had on n1, too, where one pod of five is.
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
    limits = steered(strength=strength, minReplicas=1, gainShare=0)
    copy = WorkingCopy(made, [policy], limits, History())
    (web,) = (n for n, pod in enumerate(made.pods) if pod.metadata.name.startswith("web"))
    evaluator = Evaluator(copy)
    if planned is not None:
        evaluator.chooser.planned[web] = planned
    found = evaluator.evaluate((web,))
    assert found.refusal is None, found.refusal
    return found.moves[0]


def test_the_best_node_is_reached_though_the_scheduler_likes_others() -> None:
    move = gathering("Require")
    assert move.choice is not None
    assert move.choice.strength == "Require"
    assert len(move.choice.nodes) == 2
    assert move.choice.nodes[0] == move.destination == 2
    assert move.landing is not None
    assert move.landing.probabilities.tolist() == [1.0]
    assert move.gain == pytest.approx(gathering("Prefer").gain)


def test_what_a_plan_has_chosen_is_kept_as_it_is() -> None:
    alone = gathering("Require", planned=[2])
    assert alone.choice is not None
    assert (alone.choice.strength, alone.choice.nodes.tolist()) == ("Prefer", [2])
    both = gathering("Require", planned=[2, 1])
    assert both.choice is not None
    assert (both.choice.strength, both.choice.nodes.tolist()) == ("Require", [2, 1])

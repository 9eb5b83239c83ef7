"""What a plan reports of a later landing counts every course that the earlier ones may take."""

from dataclasses import replace

import numpy as np
import pytest

from rescheduler.model.moves.move import Landing
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.forecast import forecast
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import deployment, node, pod, snapshot
from tests.planning.scenarios import hot_gpus

NAMES = ["n1", "n2", "n3"]


def two_movers(room: str) -> tuple[SchedulerModel, list[Evaluation]]:
    """Two big pods on n1, and n2 and n3 alike with so much room; both put on n2 or n3."""
    tops = [deployment(name, replicas=1) for name in ("a", "b")]
    pods = [
        pod(f"{top.metadata.name}-0", "n1", owner=made, requests={"cpu": "3"}) for top, made in tops
    ]
    # Full but for the movers, so that neither comes back.
    pods.append(pod("rest", "n1", requests={"cpu": "94"}))
    nodes = [node("n1", allocatable={"cpu": "100", "memory": "8Gi", "pods": "9"})]
    nodes += [node(n, allocatable={"cpu": room, "memory": "8Gi", "pods": "9"}) for n in NAMES[1:]]
    cluster = snapshot(
        nodes, pods, controllers=[controller for pair in tops for controller in pair]
    )
    model = SchedulerModel(cluster)
    moves = []
    for index in (0, 1):
        landing = model.landing(index)
        move = Evaluation(index, 0, destination=int(landing.nodes[0]), landing=landing)
        model.commit(move.shift)
        moves.append(move)
    return model, moves


def shares(landing: Landing | None) -> dict[str, float]:
    assert landing is not None
    found = zip(landing.nodes.tolist(), landing.probabilities.tolist(), strict=True)
    return {NAMES[index]: share for index, share in found}


def test_two_pods_and_two_equal_nodes_may_come_in_either_order() -> None:
    model, moves = two_movers("5")
    assert len(shares(moves[1].landing)) == 1, "the search knows one order only"
    first, second = forecast(model, moves, names=NAMES, seed=0)
    assert shares(first.landing) == pytest.approx({"n2": 0.5, "n3": 0.5})
    assert shares(second.landing) == pytest.approx({"n2": 0.5, "n3": 0.5})


def test_the_working_copy_is_as_it_was() -> None:
    model, moves = two_movers("9")
    before = model.landing(2)
    forecast(model, moves, names=NAMES, seed=0)
    after = model.landing(2)
    assert np.array_equal(before.nodes, after.nodes)
    assert np.array_equal(before.probabilities, after.probabilities)


def test_a_landing_that_is_certain_stays_so() -> None:
    model, moves = two_movers("9")
    alone = replace(moves[0], landing=Landing(np.array([1], dtype=np.int32), np.ones(1)))
    model.commit(moves[1].shift.shift_back())
    (reported,) = forecast(model, [alone], names=NAMES, seed=0)
    assert sum(shares(reported.landing).values()) == pytest.approx(1.0)


def test_the_shares_of_every_move_of_a_plan_sum_to_one() -> None:
    for seed in range(3):
        for move in hot_gpus(seed).plan().moves:
            reported = sum(share.probability for share in move.landing) + move.unschedulable
            assert reported == pytest.approx(1.0)
            assert move.returns == pytest.approx(
                sum(share.probability for share in move.landing if share.node == move.source)
            )

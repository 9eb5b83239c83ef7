"""The best node of each pod, as pods move: what is kept is what asking anew would tell."""

import random

import numpy as np
import pytest

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.planning.improve.descent import Descent
from rescheduler.planning.improve.kinds import KindDescent, KindOffers
from rescheduler.planning.improve.placement import Placement
from rescheduler.policies.shared.separable import OfKinds
from tests.planning.improve import drawn_gpus


def kinds_of(placement: Placement) -> IntArray:
    """(pods, what kinds differ in)."""
    parts = [*(each.kernel for each in placement.kernels), *placement.rules]
    told = [each.kinds() for each in parts if isinstance(each, OfKinds)]
    assert len(told) == len(parts)
    return np.column_stack(told)


def best(placement: Placement) -> FloatArray:
    """What the best node costs each pod, asked pod by pod."""
    told: FloatArray = placement.arriving(placement.movable, placement.nodes).min(axis=1)
    return told


@pytest.mark.parametrize("seed", range(25))
def test_what_is_kept_by_kinds_is_what_each_pod_is_told(seed: int) -> None:
    chance = random.Random(seed)
    placement = drawn_gpus.placement(seed, types=3)
    pods = placement.movable
    kinds = np.unique(kinds_of(placement), axis=0, return_inverse=True)[1].ravel()
    offers = KindOffers(placement, pods, kinds.astype(np.int32))
    for _ in range(30):
        told = best(placement)
        np.testing.assert_allclose(offers.best, told, rtol=1e-9, atol=1e-9)
        going = np.flatnonzero(np.isfinite(offers.best)).tolist()
        if not going:
            return
        place = chance.choice(going)
        pod, to = int(pods[place]), int(offers.to[place])
        if chance.random() < 0.5:
            allowed = placement.arriving(pods[place : place + 1], placement.nodes)[0]
            to = int(chance.choice(np.flatnonzero(np.isfinite(allowed)).tolist()))
        ends = np.array([placement.where[pod], to], dtype=np.int32)
        placement.move(pod, to)
        offers.renew(ends, place)


def test_a_descent_by_kinds_gains_what_one_by_pods_does() -> None:
    moves = 0
    for seed in range(15):
        by_kinds, by_pods = (drawn_gpus.placement(seed, nodes=16, types=2) for _ in range(2))
        kinds = by_kinds.kinds()
        if kinds is None:
            continue
        found = np.concatenate([[], *KindDescent(by_kinds, by_kinds.movable, 6, kinds).run()])
        assert found == pytest.approx(
            np.concatenate([[], *Descent(by_pods, by_pods.movable, 6).run()])
        )
        assert by_kinds.cost() == pytest.approx(by_pods.cost())
        assert len(by_kinds.moved) <= 6
        moves += len(found)
    assert moves > 20

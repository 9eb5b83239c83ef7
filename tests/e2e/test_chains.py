"""Swaps and chains repair a full cluster, whatever happens to the program in between."""

import pytest

from tests.e2e.crashing import Crashes, Point
from tests.e2e.full_cluster import FAST, repair, whole
from tests.e2e.loop import budgets_watched

pytestmark = pytest.mark.e2e


def test_swaps_and_chains_repair_a_full_cluster(chained: Crashes) -> None:
    with budgets_watched(chained.cluster) as breaches:
        moves = repair(chained)
    helpers = {move["pod"]["uid"] for move in moves if move["pod"]["name"].startswith("hdd")}
    movers = [move for move in moves if move["pod"]["name"].startswith("ssd")]
    assert len(helpers) == len(movers) == 2
    # Who makes room, leaves before.
    for move in movers:
        assert set(move["after"]) <= helpers
        assert move["landedOn"] in FAST
    assert any(move["after"] for move in movers)
    whole(chained)
    assert not breaches()


def test_killed_between_the_steps_of_a_chain_the_cluster_ends_well(chained: Crashes) -> None:
    """`make crash-points` does the same around every write of a chain."""
    with budgets_watched(chained.cluster) as breaches:
        # Room is made, and nobody is there to use it; then who comes is on its way, unobserved.
        assert chained.crash(Point("eviction", 1, "after"))
        assert chained.crash(Point("eviction", 1, "after"))
        repair(chained)
    whole(chained)
    assert not breaches()

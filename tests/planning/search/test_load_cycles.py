"""Ten cycles of plan and apply under constant load: the cost only falls, and no pod moves twice."""

from itertools import pairwise

import pytest
from hypothesis import event, given, settings

from tests.draws import tries
from tests.planning.search.load_cycles import Cycle, LoadedCluster, loaded_clusters

CYCLES = 10
quick = settings(
    max_examples=tries(75),
    database=None,
)


def check(cluster: LoadedCluster) -> list[Cycle]:
    """Ten cycles, each of which must do good."""
    done = [cluster.cycle() for _ in range(CYCLES)]
    moved = [move.pod for cycle in done for move in cycle.moves]
    event(f"moves: {min(len(moved), 4)}")
    assert len(moved) == len(set(moved)), moved
    for cycle in done:
        assert cycle.after <= cycle.before + 1e-9
        for destination in {move.destination for move in cycle.moves}:
            assert cycle.loads[destination] <= cluster.full(destination) + 1e-9
    return done


@quick
@given(loaded_clusters("Relieve", "Balance"))
def test_what_was_promised_is_found(cluster: LoadedCluster) -> None:
    for one, following in pairwise(check(cluster)):
        assert following.before == pytest.approx(one.after, abs=1e-9)


@quick
@given(loaded_clusters("Pack", remembers=True))
def test_what_is_freed_stays_free(cluster: LoadedCluster) -> None:
    """Only a node that has become cold, or can be freed only now, adds to the cost.

    Where load was relieved to is often cold, so that our own moves must be remembered.
    """
    for one, following in pairwise(check(cluster)):
        new = sum(cost for node, cost in following.kept.items() if node not in one.kept)
        assert following.before <= one.after + new + 1e-9

"""Plans beside the optimum, which HiGHS finds: the short form of `make bench-optimum`."""

import pytest

from tests.bench.bench_optimum import KINDS, gain, planned
from tests.bench.drawn_load import drawn
from tests.bench.optimum import optimum

_NODES = 10


@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@pytest.mark.parametrize(("load", "least"), [("loose", 0.9), ("tight", 0.6)])
def test_a_steered_plan_gains_nearly_what_the_best_one_does(
    load: str, least: float, kinds: tuple[str, ...]
) -> None:
    for seed in range(2):
        cluster = drawn(_NODES, load, seed)
        best = optimum(cluster, kinds, 5)
        made = planned(cluster, kinds, 5)
        assert len(made.moves) <= 5
        assert gain(made) >= least * best.gain
        assert gain(made) <= best.bound + 1e-6, "the optimum is none"


def test_an_unsteered_plan_gains_no_more_than_the_best_one() -> None:
    cluster = drawn(_NODES, "tight", 0)
    best = optimum(cluster, KINDS[0], 5)
    assert 0.0 < gain(planned(cluster, KINDS[0], 5, steered=False)) <= best.bound + 1e-6


def test_many_moves_are_proposed_together_where_load_leaves_little_room() -> None:
    """Single moves, swaps and chains end at 18.19, and 19.02 is proven to be out of reach."""
    made = planned(drawn(60, "tight", 0), ("Utilization",), 20)
    assert gain(made) > 0.965 * 19.02
    assert made.search is not None
    assert made.search.singly is not None
    assert len(made.moves) == 20

"""It comes to rest under constant load, and loads that only seem to change move little."""

import pytest

from tests.simulation.quiescence import BOUNDS, watch


@pytest.mark.parametrize("story", BOUNDS)
def test_it_comes_to_rest(story: str) -> None:
    rest = watch(story, days=0.6, period=900.0)
    assert rest.broken == ()
    assert rest.late <= BOUNDS[story] * rest.days, rest
    assert rest.per_workload <= 2, rest


def test_a_hot_node_is_relieved_where_nothing_forbids_it() -> None:
    rest = watch("constant", days=0.1, period=300.0)
    assert rest.early >= 1, rest
    assert rest.peak < 0.7, rest

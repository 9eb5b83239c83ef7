"""A search that ends early says so, and every plan says how far from the best it is at most."""

from typing import Any

import pytest

from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.policies.limits import Limits
from tests.bench.bench_optimum import KINDS, gain
from tests.bench.bench_optimum import planned as drawn_plan
from tests.bench.drawn_load import drawn
from tests.bench.optimum import optimum
from tests.planning.scenarios import SWIFT, hot_gpus
from tests.planning.search.chains import full, planned


def found(limits: Limits = SWIFT, **given: Any) -> SearchResult:
    world = hot_gpus(limits=limits)
    copy = WorkingCopy(world.snapshot, world.policies, limits, History())
    return search(Evaluator(copy), **given)


def test_a_search_that_may_evaluate_little_says_so_and_keeps_what_it_found() -> None:
    whole, short = found(), found(effort=Effort(steps=3))
    assert short.summary is not None
    assert short.summary.stopped == "steps"
    assert 3 <= short.summary.steps <= 3 + len(short.moves)
    assert {refusal.code for refusal in short.refusals.values()} >= {"FEA013"}
    assert 0 < len(short.moves) < len(whole.moves)
    assert [move.pod for move in short.moves] == [
        move.pod for move in found(effort=Effort(steps=3)).moves
    ]


def test_a_search_whose_time_is_up_ends_with_what_it_has() -> None:
    answers = iter([False] * 4 + [True] * 99)
    short = found(effort=Effort(expired=lambda: next(answers)))
    assert short.summary is not None
    assert short.summary.stopped == "time"
    assert short.moves


def test_a_full_plan_says_that_the_limits_ended_it() -> None:
    summary = found().summary
    assert summary is not None
    assert summary.stopped == "full"
    many = SWIFT.model_copy(update={"movesPerCycle": 1000, "movesPerWorkload": 1000})
    summary = found(many).summary
    assert summary is not None
    assert summary.stopped == "complete"


@pytest.mark.parametrize("most", [1, 3, 8])
def test_as_many_moves_cannot_gain_more_than_the_bound(most: int) -> None:
    limits = SWIFT.model_copy(update={"movesPerCycle": most})
    result = found(limits)
    assert result.summary is not None
    assert result.summary.gain == pytest.approx(sum(move.gain for move in result.moves))
    assert result.summary.gain <= result.summary.bound + 1e-9
    within = result.summary.within
    assert within is not None
    assert within < 0.5, "a bound that is far too high says nothing"


def test_the_bound_counts_no_more_of_a_workload_than_the_limits_allow() -> None:
    free = SWIFT.model_copy(update={"movesPerWorkload": 1000})
    tight, loose = found().summary, found(free).summary
    assert tight is not None
    assert loose is not None
    assert tight.bound <= loose.bound


def test_a_plan_says_how_many_moves_are_parts_of_chains() -> None:
    made = planned(full(room="3"))
    assert made.search is not None
    assert made.search.chained == 2
    assert made.search.stopped == "complete"


@pytest.mark.parametrize("kinds", KINDS, ids="+".join)
@pytest.mark.parametrize(("load", "nodes", "near"), [("loose", 10, 1.25), ("tight", 6, 3.0)])
def test_no_plan_gains_more_than_the_bound_which_is_near_the_best(
    load: str, nodes: int, near: float, kinds: tuple[str, ...]
) -> None:
    for most in (1, 4):
        cluster = drawn(nodes, load, seed=most)
        best, made = optimum(cluster, kinds, most), drawn_plan(cluster, kinds, most)
        assert made.search is not None
        assert gain(made) <= made.search.bound + 1e-6
        if len(made.moves) == most:
            assert best.gain <= made.search.bound + 1e-6
            assert made.search.bound <= near * best.bound

"""What reports say about steered moves, swaps and chains, and how good a plan is."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.model.moves.plan import LandingShare, Plan
from rescheduler.model.moves.search_summary import SearchSummary, merge_summaries
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.terminal import render_table
from tests.reporting.samples import plan

SUMMARY = SearchSummary(stopped="full", steps=1234, gain=24.0, bound=25.0, chained=2)


def told(**steered: Any) -> Plan:
    full = plan()
    nodes = ["n7", "n8", "n9", "n10"]
    chosen = Steered(**{"by": "Webhook", "strength": "Require", "nodes": nodes, **steered})
    shares = [LandingShare(node=f"n{n}", probability=p) for n, p in ((1, 0.75), (2, 0.25))]
    first = structs.replace(full.moves[0], steered=chosen, unsteered=shares)
    return plan(moves=[first, *full.moves[1:]], search=SUMMARY)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [80, 120, 160])
def test_a_steered_move_names_steered_nodes_and_unsteered_landings(
    width: int,
) -> None:
    text = "steered to n7, n8, n9 and 1 more (Require by Webhook), else n1 75 %, n2 25 %"
    assert text in flat(render_table(told(), width=width, color=False))
    assert text in flat(render_page(told()))


def test_a_move_that_taints_steer_names_the_nodes_that_it_is_kept_off() -> None:
    made = told(by="SoftTaint", strength="Prefer", shunned=["n1", "n2"])
    assert "kept off n1, n2 (SoftTaint), else n1 75 %" in flat(render_page(made))


def test_the_headline_says_how_near_the_best_and_why_it_ended() -> None:
    for text in (flat(render_table(told(), width=120, color=False)), flat(render_page(told()))):
        assert "96 %" in text
        assert "at least, of the best that 6 moves could gain within these limits; " in text
        assert "; 2 in swaps and chains" in text
        assert "without which" not in text
        assert "the limits allow no more moves (1,234 evaluations)" in text
        assert "1 steered" in text


def test_the_headline_says_what_single_moves_alone_would_gain() -> None:
    made = plan(search=structs.replace(SUMMARY, alone=20.0))
    said = "2 in swaps and chains, without which 20.0 of 24.0 is gained"
    assert said in flat(render_table(made, width=120, color=False))


def test_the_headline_says_what_a_plan_that_was_made_better_gains_more() -> None:
    made = plan(search=structs.replace(SUMMARY, chained=0, singly=22.5))
    for text in (flat(render_table(made, width=120, color=False)), flat(render_page(made))):
        assert "found move by move, a plan gains 22.5, and this one 24.0" in text
    made = plan(search=structs.replace(SUMMARY, chained=0, singly=24.0))
    same = "no plan that is found move by move is as good"
    assert same in flat(render_table(made, width=120, color=False))


def test_the_headline_says_what_the_last_plan_had_found_already() -> None:
    made = plan(search=structs.replace(SUMMARY, resumed=20.0))
    for text in (flat(render_table(made, width=120, color=False)), flat(render_page(made))):
        assert "20.0 of 24.0 is gained by moves of the last plan" in text


def test_nothing_is_said_of_a_search_that_was_not_made() -> None:
    assert "could gain" not in render_table(plan(), width=120, color=False)
    none = plan(search=SearchSummary(stopped="complete", steps=0, gain=0.0, bound=0.0))
    assert "could gain" not in render_table(none, width=120, color=False)


def test_the_passes_of_a_plan_are_one_search() -> None:
    other = SearchSummary(stopped="complete", steps=6, gain=1.0, bound=5.0)
    both = merge_summaries([other, SUMMARY])
    assert both == SearchSummary(stopped="full", steps=1240, gain=25.0, bound=30.0, chained=2)
    chains = structs.replace(SUMMARY, alone=20.0)
    assert merge_summaries([other, chains]) == structs.replace(both, alone=21.0)
    improved = structs.replace(SUMMARY, singly=22.5)
    assert merge_summaries([other, improved]) == structs.replace(both, singly=23.5)
    resumed = structs.replace(SUMMARY, resumed=20.0)
    assert merge_summaries([other, resumed]) == structs.replace(both, resumed=20.0)
    assert merge_summaries([]) is None
    assert both.within == pytest.approx(1 / 6)

"""Healthy, not judged and powerless look different in every report."""

import html
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from rescheduler.model.moves.assessment import Assessment
from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.suggestion import TrialResult
from rescheduler.reporting.formats.markdown import render_markdown
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.plan_json import from_json, to_json
from rescheduler.reporting.formats.terminal import render_table
from rescheduler.reporting.judgement import judgement
from rescheduler.reporting.view import view
from tests.reporting.full import SUGGESTION
from tests.reporting.samples import plan
from tests.reporting.states import STATES, healthy, powerless, unjudged

Golden = Callable[[Path, str], None]


def test_the_table_is_as_approved(golden: Golden) -> None:
    golden(Path("healthy-80.txt"), render_table(healthy(), width=80, color=False))


@pytest.mark.parametrize("name", STATES)
def test_markdown_and_page_begin_with_the_answer(name: str) -> None:
    said = view(STATES[name]()).headline[:40]
    assert f"**{said}" in render_markdown(STATES[name]())
    assert said in html.unescape(render_page(STATES[name]()))


@pytest.mark.parametrize("name", STATES)
def test_the_json_keeps_the_answer(name: str) -> None:
    made = STATES[name]()
    assert from_json(to_json(made)) == made


def test_each_answer_begins_the_headline_by_its_name() -> None:
    starts = {name: view(make()).headline.partition(":")[0] for name, make in STATES.items()}
    assert starts == {"healthy": "Healthy", "unjudged": "Not judged", "powerless": "Powerless"}


def test_each_answer_has_a_color_of_its_own() -> None:
    colors = {"healthy": "1;37;42m", "unjudged": "1;30;47m", "powerless": "1;37;41m"}
    for name, make in STATES.items():
        table = render_table(make(), width=100, color=True)
        found = {color for color in colors.values() if color in table}
        assert found == {colors[name]}


def test_nothing_green_stands_above_red_on_the_page() -> None:
    for make, color in ((powerless, "powerless"), (unjudged, "notjudged"), (healthy, "healthy")):
        page = render_page(make()).partition("</style>")[2]
        assert f'class="head said {color}"' in page
        assert f'class="nothing {color}"' in page


def test_nothing_to_do_is_only_said_of_a_healthy_cluster() -> None:
    said = {name: "Nothing to do" in render_table(make(), width=100, color=False)
            for name, make in STATES.items()}  # fmt: skip
    assert said == {"healthy": True, "unjudged": False, "powerless": False}


def test_a_score_is_a_dash_where_nothing_is_judged() -> None:
    (score, *_) = view(unjudged()).facts
    assert (score.value, score.detail) == ("—", "not known: no policy judges anything")
    (score, *_) = view(healthy()).facts
    assert score.detail.endswith("1 of 2 policies judges nothing")


def test_what_cannot_be_mended_is_counted_and_explained() -> None:
    said = judgement(powerless())
    assert said is not None
    assert said.sentence == "5 hot nodes, and no move that may be made now mends that."
    nothing = view(powerless()).nothing
    assert nothing is not None
    assert (nothing.code, nothing.message[:22]) == ("FEA002", "No move: 35 of 41 pods")


def test_without_things_to_count_the_policies_are_named() -> None:
    made = structs.replace(powerless(), counts=[])
    said = judgement(made)
    assert said is not None
    assert said.sentence.startswith("policy gpu-utilization complains, and no move")


def test_plans_of_earlier_versions_say_none_of_it() -> None:
    assert judgement(plan()) is None
    assert "HEALTHY" not in render_table(plan(), width=100, color=False)


def test_no_policy_with_a_weight_judges_nothing() -> None:
    bare = [structs.replace(policy, weight=0.0) for policy in healthy().policies]
    says = Assessment(state="NotJudged")
    said = judgement(structs.replace(healthy(), policies=bare, assessment=says))
    assert said is not None
    assert said.sentence == "no policy has a weight."


def advised() -> Plan:
    """A plan with what would help most: one that was tried, one with a risk, and one without."""
    budget = structs.replace(
        SUGGESTION,
        code="BUD002",
        change="Let PodDisruptionBudget ml/bert allow 1",
        how="",
        trial=TrialResult(movesNow=6, moves=6, gainNow=2.5, gain=4.0),
        untried="",
        risk="one more of its pods may be away at a time",
        decides="the owners of namespace ml",
    )
    steering = structs.replace(SUGGESTION, untried="", risk="", decides="")
    exporter = structs.replace(
        steering, change="Give policy a its readings: no series", how="Install it", trial=None
    )
    return structs.replace(powerless(), suggestions=[steering, budget, exporter])


PROMISE = "Turn on steering: 35 more moves, worst GPU of a node 95 % → 46 %, 5 hot GPUs become 1."


def test_a_suggestion_says_what_it_brings_and_how() -> None:
    steering, budget, exporter = view(advised()).suggestions
    assert steering.promise == PROMISE
    assert steering.how == "Write `steering: {by: AdmissionPolicy}` in the Limits."
    assert steering.caution == ""
    gains = "Let PodDisruptionBudget ml/bert allow 1: 6 moves gain 4.00 instead of 2.50."
    assert budget.whole == f"{gains} {budget.caution}"
    assert exporter.whole == "Give policy a its readings: no series. Install it."


def test_what_is_less_safe_names_who_decides_it() -> None:
    _, budget, _ = view(advised()).suggestions
    assert budget.caution == (
        "Less safe: one more of its pods may be away at a time. "
        "To be decided by the owners of namespace ml."
    )


def test_suggestions_are_in_every_report() -> None:
    table = render_table(advised(), width=120, color=False)
    page, markdown = html.unescape(render_page(advised())), render_markdown(advised())
    assert PROMISE in table
    assert PROMISE in page
    assert f"1. **{PROMISE}**" in markdown
    assert from_json(to_json(advised())) == advised()
    for report in (table, page, markdown):
        assert "What would help most" in report
        assert "To be decided by the owners of namespace ml" in report


def test_without_suggestions_there_is_no_heading() -> None:
    assert "What would help" not in render_table(powerless(), width=120, color=False)
    assert "What would help" not in render_page(powerless()).partition("</style>")[2]

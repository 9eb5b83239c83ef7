"""What must be known first is told once, however many policies and readings it concerns."""

import pytest
from msgspec import structs

from rescheduler.model.moves.assessment import Assessment
from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.model.wording import join_names
from rescheduler.reporting.alerts import alerts
from rescheduler.reporting.judgement import judgement
from tests.reporting.samples import plan, policies, reading

DOWN = "http://prometheus:9090: it cannot be reached"


def problem(name: str = "", message: str = DOWN) -> Problem:
    return Problem("RDG001", f"{name}: {message}" if name else message)


def without_prometheus(second: Problem) -> Plan:
    """Two policies that were not evaluated, and three readings without a value."""
    whys = [problem("node.gpu"), second]
    results = [
        structs.replace(policy, problem=why, assessment=Assessment(state="NotJudged", why=why))
        for policy, why in zip(policies(moved=False), whys, strict=True)
    ]
    unfit = [
        reading(name, None, coverage=0.0, problem=problem())
        for name in ("node.gpu", "node.cpu", "pod.cpu")
    ]
    return plan(
        policies=results, readings=unfit, assessment=Assessment(state="NotJudged", why=whys[0])
    )


def test_what_two_policies_lack_for_one_reason_is_told_once() -> None:
    shown = without_prometheus(problem("node.cpu"))
    told = [alert for alert in alerts(shown) if alert.level == "problem"]
    assert [(alert.title, alert.message) for alert in told] == [
        ("Policies gpu-utilization and zone-spread were not evaluated", DOWN)
    ]
    answer = judgement(shown)
    assert answer is not None
    assert answer.sentence.count(DOWN) == 1


def test_policies_that_lack_different_things_are_told_each() -> None:
    shown = without_prometheus(problem("node.cpu", "it is stale"))
    told = [alert.title for alert in alerts(shown) if alert.level == "problem"]
    assert told == [
        "Policy gpu-utilization was not evaluated",
        "Policy zone-spread was not evaluated",
    ]


def test_readings_that_no_policy_names_are_told_together() -> None:
    shown = structs.replace(without_prometheus(problem()), policies=[])
    told = [alert.title for alert in alerts(shown) if alert.level == "problem"]
    assert told == ["Readings node.gpu (GPU), node.cpu (CPU) and pod.cpu (CPU) are unfit"]


def test_a_pause_comes_before_what_is_wrong() -> None:
    shown = structs.replace(
        without_prometheus(problem()), notes=[Problem("GRD006", "Evictions are paused.")]
    )
    first = alerts(shown)[0]
    assert (first.level, first.title) == ("held", "Evictions are paused")
    assert sum(alert.code == "GRD006" for alert in alerts(shown)) == 1


def test_that_nothing_steers_is_told_where_a_pod_could_move() -> None:
    unsteered = structs.replace(plan(), notes=[Problem("STR010", "Nothing steers.")])
    (told,) = [alert for alert in alerts(unsteered) if alert.code == "STR010"]
    assert told.title == "Replacements are not steered"
    totals = structs.replace(unsteered.totals, candidates=0)
    calm = structs.replace(unsteered, totals=totals)
    assert not [alert for alert in alerts(calm) if alert.code == "STR010"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_names_are_listed_as_people_list_them(names: list[str], text: str) -> None:
    assert join_names(names) == text

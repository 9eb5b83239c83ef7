"""Converting descheduler's own test cases and planning: its moves, or fewer and why.

The cases are those of test_descheduler.py. Here each is written as a policy file, which is
converted with its Limits, as a user would do it.
"""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.oracle import cases
from tests.oracle.cases import Json
from tests.oracle.converted import Outcome, evictable, outcome_of
from tests.oracle.deviations import ARGUMENTS_LEFT_OUT, DEVIATIONS

ORACLE = os.environ.get("RESCHEDULER_ORACLE", "")

pytestmark = pytest.mark.skipif(not ORACLE, reason="RESCHEDULER_ORACLE names no folder")

REFUSED = {
    "pod_with_pod_status_phase_v1.PodSucceeded": "Succeeded have ended",
    "TestTransitionTimeFiltering/evict_pod_with_old": "Succeeded have ended",
    "TestTransitionTimeFiltering/do_not_evict_pod_with_recent": "Succeeded have ended",
    "user_scenario:_Succeeded_+_PodCompleted": "Succeeded have ended",
    "Invalid_Affinity_type": "nodeAffinityType.0: must be",
}
"""Part of a case's name to what the refusal of its conversion says."""


@pytest.fixture(scope="module")
def recorded() -> list[Json]:
    with gzip.open(Path(ORACLE) / "cases.json.gz") as stream:
        read: list[Json] = json.load(stream)
    return read


@pytest.fixture(scope="module")
def outcomes(recorded: list[Json]) -> list[Outcome]:
    return [outcome_of(cases.read(one)) for one in recorded if one.get("args")]


def test_every_case_of_a_plugin_is_converted_or_refused_with_a_reason(
    outcomes: list[Outcome],
) -> None:
    assert len(outcomes) == 278
    refused = {outcome.case.name: outcome.refused for outcome in outcomes if outcome.refused}
    assert len(refused) == len(REFUSED)
    for name, message in refused.items():
        [said] = [text for part, text in REFUSED.items() if part in name]
        assert said in message


def test_more_moves_than_descheduler_s_have_a_reason(outcomes: list[Outcome]) -> None:
    more = [outcome for outcome in outcomes if outcome.moves > outcome.case.evictions]
    assert len(more) <= 3
    assert [outcome.case.name for outcome in more if outcome.case.name not in DEVIATIONS] == []


def test_fewer_moves_than_descheduler_s_have_a_reason(outcomes: list[Outcome]) -> None:
    unexplained = [
        outcome.case.name
        for outcome in outcomes
        if outcome.moves < outcome.case.evictions
        and not (outcome.codes or outcome.refused)
        and outcome.case.name not in DEVIATIONS
        and not any(outcome.case.arguments.get(name) for name in ARGUMENTS_LEFT_OUT)
    ]
    assert unexplained == []


def test_nothing_moves_where_descheduler_evicts_nothing_in_most_cases(
    outcomes: list[Outcome],
) -> None:
    counts = Counter(
        outcome.moves == 0
        for outcome in outcomes
        if not outcome.refused and outcome.case.evictions == 0
    )
    assert counts[False] <= 3
    assert counts[True] > 100


def test_converted_policies_find_what_descheduler_evicts(outcomes: list[Outcome]) -> None:
    """Moves, or codes of findings, refusals and limits: the policy is about these pods."""
    found = [
        outcome
        for outcome in outcomes
        if outcome.case.evictions and (outcome.moves or outcome.codes)
    ]
    assert len(found) >= 135


def test_whatever_descheduler_s_evictor_protects_is_protected(recorded: list[Json]) -> None:
    filtered = [
        one
        for one in recorded
        if not one.get("args") and (one.get("result") or {}).get("point") == "Filter"
    ]
    kept = [one for one in filtered if not one["result"]["result"]]
    assert len(filtered) > 40
    assert len(kept) == 18
    assert [one["test"] for one in kept if evictable(one)] == []

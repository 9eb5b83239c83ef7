"""descheduler's own test cases: whether something is moved, and how much, as descheduler has it.

The cases are not part of this project. Where they lie is said by RESCHEDULER_ORACLE: a folder with
cases.json.gz (what descheduler's unit tests evict and protect) and fit.json.gz (where pods fit).
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.deviations import DEVIATIONS, STRICTER
from tests.oracle.verdicts import Verdict, verdicts

GIVEN = os.environ.get("RESCHEDULER_ORACLE", "")

pytestmark = pytest.mark.skipif(not GIVEN, reason="RESCHEDULER_ORACLE names no folder")

COUNTS = {
    "DefaultEvictor": (38, 18, 1),
    "HighNodeUtilization": (12, 5, 0),
    "LowNodeUtilization": (23, 16, 4),
    "PodLifeTime": (20, 19, 14),
    "RemoveDuplicates": (19, 5, 1),
    "RemoveFailedPods": (19, 3, 3),
    "RemovePodsHavingTooManyRestarts": (20, 0, 0),
    "RemovePodsViolatingInterPodAntiAffinity": (9, 3, 0),
    "RemovePodsViolatingNodeAffinity": (21, 0, 1),
    "RemovePodsViolatingNodeTaints": (22, 1, 0),
    "RemovePodsViolatingTopologySpreadConstraint": (36, 2, 0),
    "nodeFit": (27, 0, 0),
}
"""Group to its cases that agree, that differ with a reason, and that are left out with a reason."""


@pytest.fixture(scope="module")
def judged() -> list[Verdict]:
    return verdicts(Path(GIVEN))


def test_every_case_is_judged_once(judged: list[Verdict]) -> None:
    assert len({verdict.name for verdict in judged}) == len(judged) == 362


def test_the_counts_are_as_they_are_told(judged: list[Verdict]) -> None:
    found = Counter((verdict.group, str(verdict.result)) for verdict in judged)
    results = ("agrees", "differs", "left out")
    groups = sorted({verdict.group for verdict in judged})
    assert {name: tuple(found[name, result] for result in results) for name in groups} == COUNTS


def test_whatever_differs_or_is_left_out_has_a_reason(judged: list[Verdict]) -> None:
    unexplained = [
        verdict for verdict in judged if verdict.result != "agrees" and not verdict.reason
    ]
    assert unexplained == []


def test_no_reason_is_given_for_what_agrees(judged: list[Verdict]) -> None:
    differing = [verdict for verdict in judged if verdict.result == "differs"]
    assert {verdict.name for verdict in differing if verdict.group != "DefaultEvictor"} == set(
        DEVIATIONS
    )
    codes = {
        verdict.found.rsplit(" ", 1)[-1]
        for verdict in differing
        if verdict.reason in STRICTER.values()
    }
    assert codes >= set(STRICTER)

"""descheduler's own test cases: whether something is moved, and how much, as descheduler has it.

The cases are not part of this project. Where they lie is said by RESCHEDULER_ORACLE: a folder with
cases.json.gz (what descheduler's unit tests evict) and fit.json.gz (where its pods fit).
"""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rescheduler.model.history import History
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.planner import plan
from rescheduler.policies.documents import policy_set
from rescheduler.scheduler.model import SchedulerModel
from tests.oracle import cases
from tests.oracle.cases import Case
from tests.oracle.deviations import (
    ARGUMENTS_OUT_OF_SCOPE,
    DEVIATIONS,
    NO_AGE,
    NO_RULE,
    PLUGINS_OUT_OF_SCOPE,
)

GIVEN = os.environ.get("RESCHEDULER_ORACLE", "")

pytestmark = pytest.mark.skipif(not GIVEN, reason="RESCHEDULER_ORACLE names no folder")


@pytest.fixture(scope="module")
def known() -> list[Case]:
    return cases.read(Path(GIVEN))


def out_of_scope(case: Case) -> str:
    """Why the case is not run, or ""."""
    given = {name for name, value in case.arguments.items() if value}
    for name in sorted(given & set(ARGUMENTS_OUT_OF_SCOPE)):
        return ARGUMENTS_OUT_OF_SCOPE[name]
    if case.plugin == "PodLifeTime" and not case.arguments.get("maxPodLifeTimeSeconds"):
        return NO_AGE
    if "Invalid_Affinity_type" in case.name:
        return NO_RULE
    return PLUGINS_OUT_OF_SCOPE.get(case.plugin, "")


def moves(case: Case) -> int:
    made = plan(
        cases.cluster(case),
        policy_set([cases.policy(case)], cases.limits(case)),
        History(),
        mode="Enforce",
    )
    return len(made.moves)


@pytest.mark.parametrize("plugin", sorted(cases.COVERED))
def test_as_many_moves_as_evictions_but_where_a_reason_is_given(
    plugin: str, known: list[Case]
) -> None:
    tried = [each for each in known if each.plugin == plugin and not out_of_scope(each)]
    assert tried
    differing = {
        each.name: f"they {each.evictions}, we {ours}"
        for each in tried
        if (ours := moves(each)) != each.evictions
    }
    unknown = {name: told for name, told in differing.items() if name not in DEVIATIONS}
    assert not unknown
    agreed = {each.name for each in tried} & set(DEVIATIONS) - set(differing)
    assert not agreed, "these agree now: take them off the list"


def test_every_case_is_run_or_out_of_scope_and_every_deviation_is_a_case(
    known: list[Case],
) -> None:
    run = {each.name for each in known if not out_of_scope(each)}
    assert {each.plugin for each in known if not out_of_scope(each)} == cases.COVERED
    assert set(DEVIATIONS) <= run
    assert len(run) - len(DEVIATIONS) >= 140


def fits() -> list[Any]:
    if not GIVEN:
        return []
    with gzip.open(Path(GIVEN) / "fit.json.gz") as stream:
        return [pytest.param(each, id=each["test"]) for each in json.load(stream)]


@pytest.mark.parametrize("given", fits())
def test_a_pod_fits_where_theirs_fits(given: dict[str, Any]) -> None:
    made, number = _fit(given)
    feasible = SchedulerModel(made).feasible(number)
    elsewhere = np.arange(len(made.nodes)) != made.pod_node[number]
    theirs = given["result"] if given["kind"] == "PodFitsAnyOtherNode" else given["fits"]
    assert bool((feasible & elsewhere).any()) == theirs


def _fit(given: dict[str, Any]) -> tuple[Snapshot, int]:
    """The cluster of the case, and the number of the pod that looks for a place."""
    whole = given["kind"] == "PodFitsAnyOtherNode"
    nodes = given["nodes"] if whole else [given["node"]]
    held = given["podsOnNodes"].values() if whole else [given["podsOnNode"] or []]
    looking = given["pod"]
    if not whole:
        looking = {**looking, "spec": {**looking["spec"], "nodeName": ""}}
    name = looking["metadata"].get("name")
    others = [each for pods in held for each in pods or () if each["metadata"].get("name") != name]
    return cases.assembled(nodes, [looking, *others]), 0

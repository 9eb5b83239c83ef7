"""Readings of operators as targets of Utilization and as signs of Health."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rescheduler.documents.text_files import TextFile
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan_digest import digest_of
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import PolicySet, policy_set, readings_from_document
from rescheduler.policies.health.policy import Health
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policytest.runner import run_all
from rescheduler.reporting.heat_map import heat_map
from rescheduler.runtime.parts import policies_in
from rescheduler.sources.policy_files import load_policies
from rescheduler.sources.recording import load, save
from tests.picture import picture
from tests.policies.own_readings.queue_length import QUEUE

ALL = {"all": True}
FOUR = """
    zone a | n1 | chat chat chat
    zone a | n2 | -
    zone a | n3 | -
    zone a | n4 | -
"""
LONG = {"node.queue": {"n1": 0.9, "n2": 0, "n3": 0, "n4": 0}, "pod.queue": {"chat": 30}}


def short_queues(**spec: Any) -> Utilization:
    return Utilization.model_validate(
        {
            "name": "u",
            "nodes": ALL,
            "match": ALL,
            "targets": {"own": {"queue": {"high": "80%", "low": "70%"}}},
            **spec,
        }
    )


def long_queues() -> Snapshot:
    before = picture(FOUR, readings=LONG, policies=[short_queues()])
    nodes, pods = before.readings.entries
    assert nodes.capacity is not None
    capacity = nodes.capacity * 0 + 100
    entries = (replace(nodes, capacity=capacity), pods)
    return replace(before, readings=replace(before.readings, entries=entries))


def test_a_node_above_the_target_is_charged_in_average_pods() -> None:
    term = short_queues().compile(long_queues())
    assert isinstance(term, UtilizationTerm)
    assert term.cost() == pytest.approx(((0.9 - 0.7) + (0.9 - 0.8)) / 2 * 100 / 30)
    assert term.hot_nodes().tolist() == [0]
    assert len(term.candidates()) == 3
    assert [finding.aspect for finding in term.findings()] == ["queue"]


def test_a_reading_that_nobody_defines_silences_its_policy() -> None:
    problem = short_queues().compile(picture(FOUR))
    assert isinstance(problem, Problem)
    assert problem.code == "RDG007"


def test_signs_are_of_any_reading_of_nodes() -> None:
    policy = Health.model_validate(
        {
            "name": "h",
            "nodes": ALL,
            "match": ALL,
            "action": "Drain",
            "signs": {"own": {"node.disk.space": "95%", "node.gpu.temperature": 90}},
        }
    )
    read = {
        "node.disk.space": {"n1": "97%", "n2": "95%", "n3": 0, "n4": 0},
        "node.gpu.temperature": {"n1": 70, "n2": 70, "n3": 70, "n4": 91},
    }
    term = policy.compile(picture(FOUR, readings=read, policies=[policy]))
    assert isinstance(term, HealthTerm)
    assert term.hot_nodes().tolist() == [0, 3]
    [finding] = term.findings()  # no pod with GPUs is on n4
    assert finding.message == "node.disk.space is 0.97; 3 pods suffer"


def defined() -> PolicySet:
    document = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "Readings",
        "metadata": {"name": "serving"},
        "spec": {
            "presets": ["amd"],
            "readings": {
                "node.queue": {
                    "value": "queue{$match}",
                    "unit": "count",
                    "capacity": {"fixed": 100},
                },
            },
        },
    }
    return policy_set([short_queues()], readings=(readings_from_document(document),))


def test_a_plan_has_the_definitions_that_it_was_made_with() -> None:
    policies = defined()
    made = plan(long_queues(), policies, History(), mode="Enforce")
    again = policies_in(made)
    assert again.readings == policies.readings
    assert [request.own for request in again.requests()] == [
        request.own for request in policies.requests()
    ]
    [document] = made.ownReadings
    document["spec"]["readings"]["node.queue"]["value"] = "other{$match}"
    assert digest_of(made) != made.digest


def test_a_plan_without_definitions_keeps_the_digest_that_it_always_had() -> None:
    made = plan(long_queues(), policy_set([short_queues()]), History(), mode="Enforce")
    older = msgspec.to_builtins(made)
    del older["ownReadings"]
    assert digest_of(msgspec.convert(older, type(made))) == made.digest


def test_the_heat_map_knows_the_target() -> None:
    made = plan(long_queues(), defined(), History(), mode="Enforce")
    [row] = heat_map(made)
    assert row.label == "queue"
    assert row.target.startswith("80")


def test_a_recording_is_found_by_those_who_ask_by_name(tmp_path: Path) -> None:
    policies, before = defined(), long_queues()
    asked = {request.name: request for request in policies.requests()}
    entries = tuple(
        replace(reading, request=asked[reading.name], low_coverage=reading.name == "pod.queue")
        for reading in before.readings.entries
    )
    file = tmp_path / "a.snapshot"
    save(replace(before, readings=replace(before.readings, entries=entries)), file)
    back = load(file)
    assert [reading.request.own for reading in back.readings.entries] == [None, None]
    assert [reading.low_coverage for reading in back.readings.entries] == [False, True]
    assert isinstance(policies.policies[0].compile(back), UtilizationTerm)


TEST = """\
policy: a.yaml
tests:
  - name: a long queue gives one away
    cluster: |
      zone a | n1 | chat chat chat
      zone a | n2 | -
    readings:
      node.queue: {n1: 90%, n2: 0%}
      pod.queue: {chat: 30}
      node.gpu.temperature: {n1: 30, n2: 30}
      node.disk.space: {n1: 30%, n2: 20%}
    expect:
      candidates: {short-queues: [chat]}
      cost: {short-queues: 0.33}
"""


def test_policy_tests_know_the_capacity_of_a_definition(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(QUEUE, encoding="utf-8")
    file = TextFile(str(tmp_path / "a_test.yaml"), "t", TEST)
    [result] = run_all([file], lambda _file, name: load_policies(tmp_path / name))
    assert result.holds, (result.differences, result.broken)

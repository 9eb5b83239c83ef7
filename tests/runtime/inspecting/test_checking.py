"""Policies that decide nothing, fight each other or have no data are reported before they run."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rescheduler.cli.main import program
from rescheduler.model.cluster.reading_answer import ReadingAnswer
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.health.policy import Health
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.reporting.phrasing import percent
from rescheduler.reporting.reading_table import render_readings
from rescheduler.runtime.inspecting.checking import (
    answers,
    dead,
    idle,
    undefined_readings,
    unevaluated_policies,
)
from tests.cases import every
from tests.picture import picture
from tests.policies.own_readings.queue_length import QUEUE

ALL = {"all": True}


def spread(name: str, **more: object) -> Spread:
    return Spread.model_validate({"kind": "Spread", "name": name, "match": ALL, **more})


def load(name: str, **more: object) -> Utilization:
    given = {"nodes": ALL, "match": ALL, "targets": {"cpu": {"high": "50%"}}}
    return Utilization.model_validate({"kind": "Utilization", "name": name, **given, **more})


def test_rules_that_decide_nothing_are_reported() -> None:
    limits = Limits.model_validate({"movesPerCycle": 0})
    reported = list(dead(policy_set([spread("a", weight=0)], limits)))
    assert reported == [
        "Limits default: movesPerCycle is 0, so nothing will ever move",
        "Spread a: weight is 0, so it has no effect",
    ]


@pytest.mark.parametrize(("name", "amount"), [("movesPerNamespace", 0), ("movesPerNode", "0.0%")])
def test_limits_that_allow_nothing_are_reported(name: str, amount: object) -> None:
    limits = Limits.model_validate({name: amount})
    assert list(dead(policy_set([spread("a")], limits))) == [
        f"Limits default: {name} is {amount}, so nothing will ever move"
    ]
    assert list(dead(policy_set([spread("a")], Limits.model_validate({name: "0.1%"})))) == []


@every(
    [
        ("movesPerCycle", "10%", 6),  # of all
        ("movesPerNode", "20%", 4),  # of those of the fullest node
        ("movesPerWorkload", "30%", 3),
        ("movesPerCycle", "17%", 0),
        ("movesPerNode", "25%", 0),
        ("movesPerCycle", 1, 0),
        ("movesPerCycle", 0, 0),  # that is reported of every cluster
    ]
)
def test_percentages_of_too_few_pods_are_reported(name: str, amount: object, pods: int) -> None:
    before = picture("zone a | n1 | web web web api\nzone b | n2 | api api")
    limits = Limits.model_validate({name: amount})
    found = [
        message
        for message in idle(policy_set([spread("a")], limits), before)
        if "Limits" in message
    ]
    text = f"Limits default: {name} is {amount}, of {pods} pods at most that run here, "
    assert found == ([f"{text}which is rounded down to none: nothing will move"] if pods else [])


def test_pods_that_are_found_and_refused_in_any_case_are_reported() -> None:
    rules = {"restarts": {"atLeast": 5, "states": ["CrashLoopBackOff"]}}
    found = Conformity.model_validate({"kind": "Conformity", "name": "c", "match": ALL, **rules})
    rules["restarts"]["states"] = ["CrashLoopBackOff", "Running"]
    some = Conformity.model_validate({"kind": "Conformity", "name": "d", "match": ALL, **rules})
    (reported,) = dead(policy_set([found, some]))
    assert reported.startswith("Conformity c: restarts.states is CrashLoopBackOff, and the Limits")
    allowing = Limits.model_validate({"crashLooping": "Allow"})
    assert list(dead(policy_set([found, some], allowing))) == []


def test_distances_that_nothing_is_evaluated_by_are_reported() -> None:
    far = {"series": "rtt", "source": "from", "destination": "to"}
    given = {"kind": "Locality", "name": "l", "match": ALL, "distances": far}
    data = {"nodeLabel": "has/{dataset}"}
    idle_ones = Locality.model_validate({**given, "podAffinity": True})
    used = Locality.model_validate({**given, "podAffinity": True, "datasets": data})
    assert list(dead(policy_set([idle_ones]))) == [
        "Locality l: no pairs, traffic or datasets, so distances have no effect"
    ]
    assert list(dead(policy_set([used]))) == []


@every(
    [
        (
            {"unattributed": "Drain"},
            "Health h: action is Report, so `unattributed: Drain` has no effect",
        ),
        ({"stableFor": "5m"}, "Health h: action is Report, so stableFor has no effect"),
        (
            {"action": "Drain", "unattributed": "Drain", "signs": {"drops": "2%"}},
            "Health h: no sign is of GPUs, so unattributed has no effect",
        ),
        ({"action": "Drain", "unattributed": "Drain", "stableFor": "5m"}, None),
        ({}, None),
    ]
)
def test_what_health_reports_of_draining_and_never_does_is_reported(
    spec: dict[str, object], reported: str | None
) -> None:
    given = {"kind": "Health", "name": "h", "nodes": ALL, "match": ALL, "signs": {"xid": True}}
    policy = Health.model_validate({**given, **spec})
    assert list(dead(policy_set([policy]))) == ([] if reported is None else [reported])


def test_what_only_another_strategy_asks_for_is_reported() -> None:
    assert list(dead(policy_set([load("a", strategy="Pack", tolerance=0.2, cold=0.2)]))) == [
        "Utilization a: strategy is Pack, so tolerance has no effect"
    ]
    assert list(dead(policy_set([load("a", cold=0.2)]))) == [
        "Utilization a: strategy is Relieve, so cold has no effect"
    ]


def test_the_quality_of_a_reading_that_nobody_asks_for_is_reported() -> None:
    given = {"kind": "Numa", "name": "z", "nodes": ALL, "match": ALL, "maxAge": "5m"}
    assert list(dead(policy_set([Numa.model_validate(given)]))) == [
        "Numa z: crowded is not given, so maxAge has no effect"
    ]
    assert list(dead(policy_set([Numa.model_validate({**given, "crowded": "80%"})]))) == []


def test_rules_that_repeat_or_fight_are_reported() -> None:
    assert list(dead(policy_set([spread("a"), spread("b", weight=2)]))) == [
        "Spread a and Spread b: they want the same, so it counts twice"
    ]
    assert list(dead(policy_set([load("a", strategy="Pack"), load("b", strategy="Balance")]))) == [
        "Utilization a and Utilization b: one packs the nodes that the other balances"
    ]
    assert list(dead(policy_set([spread("a"), spread("b", maxSkew=2), load("c")]))) == []


def test_a_cluster_reports_who_has_no_data_and_who_sees_nothing() -> None:
    narrow = spread("narrow", match={"namespaces": ["nowhere"]})
    policies = policy_set([load("hot"), narrow])
    bare = picture("zone a | n1 | web web\nzone b | n2 | -")
    assert [
        (policy.name, problem.code) for policy, problem in unevaluated_policies(policies, bare)
    ] == [("hot", "RDG007")]
    assert list(idle(policies, bare)) == ["Spread narrow: match: there is no namespace nowhere"]
    asked = list(answers(policies, bare))
    assert [(answer.name, answer.series, answer.coverage) for answer in asked] == [
        ("node.cpu", None, 0.0),
        ("pod.cpu", None, 0.0),
    ]
    assert {answer.problem.code for answer in asked if answer.problem} == {"RDG007"}


def test_readings_are_reported_with_their_coverage_and_age() -> None:
    policies = policy_set([load("hot")])
    full = picture(
        "zone a | n1 | web web\nzone b | n2 | -",
        readings={"node.cpu": {"n1": "10% _", "n2": None}, "pod.cpu": {"web": 1}},
        policies=policies.policies,
    )
    [cpu, pods] = answers(policies, full)
    assert (cpu.withValue, cpu.expected, cpu.ageSeconds) == (1, 2, 60)
    assert (cpu.least, cpu.most, cpu.unit, cpu.policies) == (0.1, 0.1, "ratio", ["hot"])
    assert cpu.problem is not None
    assert cpu.problem.code == "RDG003"
    assert (pods.withValue, pods.expected, pods.problem) == (2, 2, None)
    shown = render_readings([cpu, pods], width=100, color=False)
    assert re.search(r"node\.cpu +5 min", shown)
    assert "1 of 2 nodes" in shown
    assert f"{percent(0.1)} to {percent(0.1)}" in shown
    assert "RDG003 node.cpu: 50% of the nodes have a value" in shown
    assert "2 of 2 pods" in shown


def test_readings_that_no_cluster_could_answer_are_told_without_one(tmp_path: Path) -> None:
    targets = {"own": {"queue": {"high": "80%"}}}
    told = list(undefined_readings(policy_set([load("q", targets=targets)])))
    assert [text.partition(";")[0] for _, text in told] == [
        "there is no reading node.queue",
        "there is no reading pod.queue",
    ]
    assert not list(undefined_readings(policy_set([load("cpu")])))
    near = Health.model_validate(
        {"name": "h", "nodes": ALL, "match": ALL, "signs": {"own": {"node.cpu.presure": 0.5}}}
    )
    [(_, text)] = undefined_readings(policy_set([near]))
    assert text.endswith("or `node.cpu.pressure` is meant")
    file = tmp_path / "a.yaml"
    file.write_text(QUEUE.replace("      capacity: {fixed: 100}\n", ""), encoding="utf-8")
    answer = CliRunner().invoke(program, ["check", str(file)])
    assert answer.exit_code == 1
    assert "node.queue is defined without `capacity`, so it can be no target" in answer.output
    assert "Health heat: RDG008 there is no reading node.gpu.temperature" in answer.output


def test_what_asking_cost_is_shown() -> None:
    answer = ReadingAnswer(
        name="node.queue\x1b[31m",
        subject="node",
        policies=["hot"],
        own=True,
        windowSeconds=300,
        unit="count",
        series=12_345,
        expected=2,
        withValue=2,
        coverage=1.0,
        ageSeconds=12.0,
        least=0,
        most=70,
        queries=2,
        seconds=0.256,
        samples=9_876_543,
    )
    shown = render_readings([answer], width=120, color=False)
    assert "\x1b" not in shown
    for text in ("12,345", "2 of 2 nodes", "12 s", "0.00 to 70.0 count", "0.26 s", "9,876,543"):
        assert text in shown


def test_the_verb_holds_policies_against_a_recording() -> None:
    root = Path(__file__).parents[3]
    recording = str(root / "tests/recordings/gpu-cluster.snapshot")
    demo = str(root / "tests/recordings/policies")
    answer = CliRunner().invoke(program, ["check", demo, "--snapshot", recording])
    assert answer.exit_code == 0, answer.output
    assert "16 of 16 nodes" in answer.output  # those that the policy selects, of 41
    answer = CliRunner().invoke(program, ["check", demo, "--snapshot", recording, "-o", "json"])
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    assert {
        reading["expected"] for reading in told["readings"] if reading["subject"] == "node"
    } == {16}
    assert told["notEvaluated"] == []
    file = str(root / "policies/spread_test.yaml")
    answer = CliRunner().invoke(program, ["check", file])
    assert (answer.exit_code, "policy tests" in answer.output) == (0, True)


def test_the_verb_notes_steering_that_cannot_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the 100 recorded nodes kube-scheduler evaluates every one; here it is as of 200."""
    sampled = "rescheduler.scheduler.config.schedulers.sample_size"
    monkeypatch.setattr(sampled, lambda nodes, _percentage: nodes // 2)
    root = Path(__file__).parents[3]
    recording = str(root / "tests/recordings/gpu-cluster.snapshot")
    file = tmp_path / "limits.yaml"
    file.write_text(
        (root / "policies/spread.yaml").read_text(encoding="utf-8")
        + "\n---\napiVersion: rescheduler.io/v1alpha1\nkind: Limits\nmetadata: {name: own}\n"
        "spec: {steering: {by: Extender, strength: Require}}\n",
        encoding="utf-8",
    )
    answer = CliRunner().invoke(program, ["check", str(file), "--snapshot", recording])
    why = "of 100 nodes default-scheduler asks it about a sample"
    assert f"steering.by Extender: {why}" in " ".join(answer.output.split())

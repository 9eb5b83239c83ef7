"""What can be used and was probably not meant is reported with its place."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rescheduler.cli.main import program
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.files.policy_warnings import warnings
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from rescheduler.sources.policy_files import load_policies

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"
OTHER = HEAD.format(kind="Spread", name="other") + "  match: {all: true}\n"
LOAD = "match: {all: true}, nodes: {all: true}, targets: {cpu: {high: 50%}}"


def reported(folder: Path, kind: str, spec: str, limits: str = "{}") -> list[str]:
    """What is reported of a set of policies, without the name of its file."""
    documents = [HEAD.format(kind=kind, name="s") + f"  {spec}\n", OTHER]
    if kind != "Limits":
        documents.append(HEAD.format(kind="Limits", name="limits") + f"  {limits}\n")
    (folder / "a.yaml").write_text("---\n".join(documents))
    found = load_policies(folder / "a.yaml")
    return [warning.report().split("a.yaml:", 1)[1] for warning in warnings(found)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            "strategy: Pack, cold: 60%",
            "5:95: warning: spec.cold: 60% is above targets.cpu.high of 50%",
        ),
        ("strategy: Pack, cold: 50%", ""),
        ("strategy: Balance, cold: 60%", ""),
        ("strategy: Pack, groups: [{nodes: {matchLabels: {a: b}}, targets: {memory: {high: 20%}}}]",
         "5:154: warning: spec.groups.0.targets.memory.high: 20% is below `cold`, which is 30%"),
    ],
)  # fmt: skip
def test_a_node_that_is_cold_and_hot(tmp_path: Path, more: str, expected: str) -> None:
    answer = reported(tmp_path, "Utilization", f"{{{LOAD}, {more}}}")
    assert len(answer) == bool(expected)
    assert all(message.startswith(expected) for message in answer)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (
            "{movesPerCycle: 11}",
            "5:19: warning: spec.movesPerCycle: 11 is above movesPerHour of 10",
        ),
        ("{movesPerHour: 4}", "5:18: warning: spec.movesPerHour: 4 is below movesPerCycle of 5"),
        ("{movesPerCycle: 20, movesPerHour: 30}", ""),
        (
            "{movesPerHour: 9%, movesPerCycle: 10%}",
            "5:37: warning: spec.movesPerCycle: 10% is above movesPerHour of 9%",
        ),
        ("{movesPerHour: 9%}", ""),
        (
            "{movesPerHour: 60}",
            "5:18: warning: spec.movesPerHour: 60 is above movesPerDay of 50, so no hour makes so",
        ),
        ("{movesPerDay: 9}", "5:17: warning: spec.movesPerDay: 9 is below movesPerHour of 10"),
        ("{movesPerHour: 60, movesPerDay: 300}", ""),
        ("{movesPerHour: 50, movesPerDay: 50}", ""),
        ("{movesPerCycle: 50%}", ""),
        ("{}", ""),
    ],
)
def test_a_cycle_of_which_an_hour_has_no_room(tmp_path: Path, limits: str, expected: str) -> None:
    answer = reported(tmp_path, "Limits", limits)
    assert len(answer) == bool(expected)
    assert all(message.startswith(expected) for message in answer)


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (
            "{namespaces: [kube-system]}",
            "5:24: warning: spec.match.namespaces: kube-system is protected by the Limits, so",
        ),
        ("{namespaces: [kube-system, web]}", ""),
        ("{all: true}", ""),
        ("{namespaces: [web, kube-system], exclude: {namespaces: [web]}}", "5:24: warning: "),
        ("{namespaces: [web], exclude: {namespaces: [web], labels: {matchLabels: {a: b}}}}", ""),
        (
            "{namespaces: [web], exclude: {namespaces: [web]}}",
            "5:53: warning: spec.match.exclude.namespaces: every namespace that is matched is",
        ),
        (
            "{namespaces: [web], exclude: {namespaces: [wbe]}}",
            "5:54: warning: spec.match.exclude.namespaces.0: `wbe` is not matched in the first",
        ),
    ],
)
def test_namespaces_of_which_nothing_moves(tmp_path: Path, match: str, expected: str) -> None:
    answer = reported(tmp_path, "Spread", f"{{match: {match}}}")
    assert len(answer) == bool(expected)
    assert all(message.startswith(expected) for message in answer)


def test_the_namespaces_that_limits_protect_are_those_of_the_set(tmp_path: Path) -> None:
    match = "{match: {namespaces: [payments]}}"
    assert reported(tmp_path, "Spread", match) == []
    own = "{match: {namespaces: [kube-system]}}"
    assert len(reported(tmp_path, "Spread", own, "{protectedNamespaces: [payments]}")) == 1
    assert len(reported(tmp_path, "Spread", match, "{protectedNamespaces: [payments]}")) == 1


def test_the_line_is_shown_and_advice_given(tmp_path: Path) -> None:
    (answer,) = reported(
        tmp_path, "Spread", "{match: {namespaces: [web], exclude: {namespaces: [wbe]}}}"
    )
    assert answer.splitlines()[1:] == [
        "     5 |   {match: {namespaces: [web], exclude: {namespaces: [wbe]}}}",
        "       |                                                      ^^^",
        "  Maybe `web`",
    ]


def test_policies_that_come_from_no_file_are_reported_by_their_names() -> None:
    made = Spread.model_validate({"name": "s", "match": {"namespaces": ["kube-system"]}})
    (answer,) = warnings(policy_set([made], Limits()))
    assert answer.report().startswith("Spread s: warning: spec.match.namespaces: kube-system is")


def test_check_prints_warnings_and_marks_their_lines(tmp_path: Path) -> None:
    text = HEAD.format(kind="Spread", name="s") + "  match: {namespaces: [kube-system]}\n"
    (tmp_path / "a.yaml").write_text(text)
    answer = CliRunner().invoke(program, ["check", str(tmp_path)])
    assert answer.exit_code == 0
    assert (
        f"{tmp_path}/a.yaml:5:23: warning: spec.match.namespaces: kube-system is" in answer.output
    )
    marked = CliRunner().invoke(program, ["check", str(tmp_path), "-o", "github"])
    assert f"::warning file={tmp_path}/a.yaml,line=5,col=23::spec.match.namesp" in marked.output


@pytest.mark.parametrize(
    ("kind", "spec", "place"),
    [
        ("Spread", "{match: {all: true}, groupBy: Gang}", "spec.groupBy"),
        (
            "Locality",
            "{match: {all: true}, groups: [{pods: {all: true}, by: Gang, together: rack}]}",
            "spec.groups.0.by",
        ),
    ],
)
def test_groups_that_are_gangs_and_never_moved_are_told(
    tmp_path: Path, kind: str, spec: str, place: str
) -> None:
    (answer,) = reported(tmp_path, kind, spec)
    text = "findings on gangs are reported and not acted on: the Limits have gangs: Spare"
    assert f"warning: {place}: {text}" in answer
    assert "Maybe set `gangs: Surplus` or `gangs: Whole` there." in answer
    for how in ("Surplus", "Whole"):
        assert reported(tmp_path, kind, spec, f"{{gangs: {how}}}") == []
    assert reported(tmp_path, kind, spec.replace("Gang", "Workload")) == []


def test_a_policy_that_moves_only_what_nothing_steers_is_told(tmp_path: Path) -> None:
    spec = "{match: {all: true}, onlyIfSteered: true%s}"
    own, none = ", steering: {by: Webhook}", ", steering: {by: None}"
    assert reported(tmp_path, "Spread", spec % "") == [], "Auto may find what steers"
    (answer,) = reported(tmp_path, "Spread", spec % "", "{steering: {by: None}}")
    text = "nothing is moved for this policy: `steering` of the Limits is by None"
    assert f"warning: spec.onlyIfSteered: {text}" in answer
    assert "Maybe set `steering: {by: AdmissionPolicy}`" in answer
    assert reported(tmp_path, "Spread", spec % own) == []
    assert reported(tmp_path, "Spread", spec % "", "{steering: {by: Webhook}}") == []
    (answer,) = reported(tmp_path, "Spread", spec % none, "{steering: {by: Webhook}}")
    assert "its own `steering` is by None" in answer
    assert reported(tmp_path, "Spread", "{match: {all: true}}") == []


def test_a_match_of_pods_that_are_never_moved_and_one_that_leaves_nothing(
    tmp_path: Path,
) -> None:
    said = reported(
        tmp_path,
        "Spread",
        "match:\n    ownerKinds: [DaemonSet]\n    exclude: {ownerKinds: [DaemonSet, Job]}",
    )
    never = "6:17: warning: spec.match.ownerKinds: pods of kind DaemonSet are never moved"
    nothing = "7:27: warning: spec.match.exclude.ownerKinds: all that is matched is excluded"
    assert [message.split(":")[0] for message in said] == ["6", "7"]
    assert said[0].startswith(never)
    assert said[1].startswith(nothing)

"""Policy tests are run as they are written, and every mistake in them has its place."""

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner

from rescheduler.cli.main import program
from rescheduler.model.errors import PolicyError
from rescheduler.policytest.runner import Result
from rescheduler.policytest.writing import to_github, to_junit, to_text
from rescheduler.runtime.inspecting.testing import find, run

POLICY = """\
apiVersion: rescheduler.io/v1alpha1
kind: Spread
metadata: {name: zones}
spec:
  match: {all: true}
---
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: hot}
spec:
  match: {all: true}
  nodes: {all: true}
  targets: {cpu: {high: 50%}}
  window: 5m
  maxAge: 3m
"""
DRAWN = """\
    cluster: |
      zone a | n1 | web web web
      zone b | n2 | -
"""
LISTED = """\
    objects:
      - {kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}}
      - {kind: Node, metadata: {name: n2, labels: {topology.kubernetes.io/zone: b}}}
"""


def file(folder: Path, test: str, policy: str = POLICY) -> Path:
    (folder / "mine.yaml").write_text(policy)
    path = folder / "mine_test.yaml"
    path.write_text(f"policy: mine.yaml\ntests:\n  - name: it\n{test}")
    return path


def reported(folder: Path, test: str, policy: str = POLICY) -> list[tuple[str, object, object]]:
    (result,) = run([file(folder, test, policy)])
    return [
        (difference.what, difference.expected, difference.actual)
        for difference in result.differences
    ]


def complaint(folder: Path, test: str) -> str:
    *_, result = run([file(folder, test)])
    assert not result.holds
    return str(result.broken)


def test_what_holds_makes_no_difference(tmp_path: Path) -> None:
    test = DRAWN + "    expect: {cost: {zones: 1}, moves: [web n1 -> n2], problem: {hot: RDG007}}\n"
    assert reported(tmp_path, test) == []


def test_every_expectation_can_fail(tmp_path: Path) -> None:
    test = DRAWN + (
        "    expect:\n"
        "      cost: {zones: 1.5, hot: 0}\n"
        "      candidates: {zones: [api]}\n"
        "      moves: []\n"
        "      refused: {web: FEA001}\n"
        "      problem: {zones: RDG001}\n"
        "      findings: {zones: [CNF008 Job default/x], hot: []}\n"
    )
    assert {what for what, _, _ in reported(tmp_path, test)} == {
        "cost.zones",
        "cost.hot",
        "candidates.zones",
        "moves",
        "refused.web",
        "problem.zones",
        "findings.zones",
        "findings.hot",
    }


@pytest.mark.parametrize(
    ("series", "cost"),
    [
        ("'25% 75%'", 0.0),
        ("'25% 95%'", 0.8),
        ("'100%x9 25% 25% 25% 25% 25%'", 0.0),
        ("'60% _ _'", 0.8),
    ],
)
def test_a_series_is_averaged_over_the_window(tmp_path: Path, series: str, cost: float) -> None:
    readings = f"    readings: {{node.cpu: {{n1: {series}, n2: 0}}, pod.cpu: {{web: 1}}}}\n"
    assert reported(tmp_path, DRAWN + readings + f"    expect: {{cost: {{hot: {cost}}}}}\n") == []


@pytest.mark.parametrize("series", ["'60% _x4'", "null"])
def test_a_value_too_old_or_absent_is_no_value(tmp_path: Path, series: str) -> None:
    readings = f"    readings: {{node.cpu: {{n1: {series}, n2: 0}}, pod.cpu: {{web: 1}}}}\n"
    assert reported(tmp_path, DRAWN + readings + "    expect: {problem: {hot: RDG003}}\n") == []


def test_a_cluster_can_be_listed(tmp_path: Path) -> None:
    pods = "".join(
        f"      - {{kind: Pod, metadata: {{name: w{i}, labels: {{app: web}}, ownerReferences: "
        "[{kind: ReplicaSet, name: web, uid: u, apiVersion: apps/v1, controller: true}]}, "
        "spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running}}\n"
        for i in range(3)
    )
    owner = "      - {kind: ReplicaSet, metadata: {name: web, uid: u}, spec: {replicas: 3}}\n"
    assert reported(tmp_path, LISTED + owner + pods + "    expect: {cost: {zones: 0}}\n") == [
        ("cost.zones", 0.0, 1.0)
    ]


@pytest.mark.parametrize(
    ("test", "place", "words"),
    [
        (DRAWN, "3:5", "expect: is required"),
        (DRAWN + "    expect: {}\n", "7:13", "nothing is expected"),
        (DRAWN + "    expect: {moves: []}\n    intervall: 1m\n", "8:5", "Maybe `interval`"),
        ("    cluster: 'n1 | web'\n    expect: {moves: []}\n", "5:14", "three columns"),
        ("    cluster: |\n      | n1 gpu | -\n    expect: {moves: []}\n", "5:14", "in pairs"),
        (LISTED + DRAWN + "    expect: {moves: []}\n", "4:5", "either `cluster`"),
        ("    objects: [{kind: Nod}]\n    expect: {moves: []}\n", "4:15", "kind `Nod`"),
        (DRAWN + "    expect: {cost: {zone: 1}}\n", "3:5", "there is `hot`, `zones`"),
        (DRAWN + "    budgets: {api: 1}\n    expect: {moves: []}\n", "7:14", "`api` is not in"),
        (
            DRAWN + "    specs: {web: {priority: high}}\n    expect: {moves: []}\n",
            "7:18",
            "Expected `int",
        ),
        (
            DRAWN + "    readings: {node.cpu: {n1: warm}}\n    expect: {moves: []}\n",
            "7:15",
            "`warm` is not a sample",
        ),
        (
            DRAWN + "    readings: {pair.traffic: {default/web: 1}}\n    expect: {moves: []}\n",
            "7:15",
            "`default/web` is not `ONE -> OTHER`",
        ),
        (
            DRAWN
            + "    readings: {pair.traffic: {default/web -> x/y: 1}}\n    expect: {moves: []}\n",
            "7:15",
            "there is no workload `x/y`",
        ),
        (
            DRAWN + "    readings: {node.cpu: {n9: 1}}\n    expect: {moves: []}\n",
            "7:15",
            "no node `n9`",
        ),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Path, test: str, place: str, words: str) -> None:
    message = complaint(tmp_path, test)
    assert f"mine_test.yaml:{place}: " in message
    assert words in message


def test_files_are_found_below_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    test = file(tmp_path / "deep", DRAWN + "    expect: {moves: []}\n")
    assert find([tmp_path, test]) == [test]
    with pytest.raises(PolicyError, match="no policy test files"):
        find([tmp_path / "deep" / "mine.yaml"][:0])
    with pytest.raises(PolicyError, match="does not exist"):
        find([tmp_path / "nowhere"])


def test_the_verb_answers_with_its_exit_code(tmp_path: Path) -> None:
    good = file(tmp_path, DRAWN + "    expect: {cost: {zones: 1}}\n")
    answer = CliRunner().invoke(program, ["test", str(good)])
    assert (answer.exit_code, answer.output) == (
        0,
        f"{good}\n  ok    it\n1 policy test in 1 file, 0 failed\n",
    )
    bad = file(tmp_path, DRAWN + "    expect: {cost: {zones: 2}}\n")
    answer = CliRunner().invoke(program, ["test", str(bad)])
    assert answer.exit_code == 1
    assert "cost.zones: expected 2.0, found 1.0" in answer.output
    kept = tmp_path / "junit.xml"
    answer = CliRunner().invoke(program, ["test", str(bad), "-o", "junit", "--out", str(kept)])
    assert (answer.stdout, answer.stderr) == ("", "1 policy test in 1 file, 1 failed\n")
    assert fromstring(kept.read_text()).get("failures") == "1"
    broken = file(tmp_path, "    expect: 3\n")
    answer = CliRunner().invoke(program, ["test", str(broken)])
    assert answer.exit_code == 2
    assert "0 policy tests in 1 file, 0 failed, 1 broken" in answer.output


def test_what_is_broken_does_not_hide_the_rest(tmp_path: Path) -> None:
    late = DRAWN + "    expect: {cost: {zone: 1}}\n  - name: fine\n" + DRAWN
    path = file(tmp_path, late + "    expect: {cost: {zones: 1}}\n")
    (tmp_path / "gone_test.yaml").write_text("policy: gone.yaml\ntests: []\n")
    results = list(run(find([tmp_path])))
    assert [(result.name, result.holds) for result in results] == [
        ("", False),
        ("it", False),
        ("fine", True),
    ]
    text = to_text(results)
    assert f"{path}\n  BROKEN  it\n" in text
    assert "2 policy tests in 2 files, 0 failed, 2 broken" in text
    root = fromstring(to_junit(results))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "0", "2")
    first, second = root.iter("error")
    assert first.get("message") == "tests: must have at least 1 entry"
    assert "there is `hot`, `zones`" in (second.text or "")


def test_github_marks_the_line_of_what_fails(tmp_path: Path) -> None:
    bad = file(tmp_path, DRAWN + "    expect: {moves: [web n1 -> n3], cost: {zones: 2}}\n")
    bad.write_text(bad.read_text().replace("name: it", "name: 'ten, 100%: it'"))
    *_, mark = to_github(list(run([bad]))).splitlines()
    place, reported = mark.removeprefix("::error ").split("::", 1)
    assert place == f"file={bad},line=3,title=ten%2C 100%25%3A it"
    assert reported.startswith("cost.zones: expected 2.0, found 1.0%0Amoves:%0A")
    broken = file(tmp_path, DRAWN + "    expect: {cost: {zone: 1}}\n")
    *_, mark = to_github(list(run([broken]))).splitlines()
    assert mark.startswith(f"::error file={broken},line=3,col=5::")


def test_check_goes_on_after_a_broken_file_and_marks_it(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(POLICY.replace("weight", "wait") + "what: 1\n")
    good = tmp_path / "good.yaml"
    good.write_text(POLICY)
    paths = [str(tmp_path / "bad.yaml"), str(good)]
    answer = CliRunner().invoke(program, ["check", "-o", "github", *paths])
    assert answer.exit_code == 2
    assert f"{good}: 2 valid" in answer.stdout
    assert f"::error file={tmp_path / 'bad.yaml'},line=" in answer.stdout
    assert answer.stderr.startswith(f"error: 1 problem in 1 of 1 file\n{tmp_path / 'bad.yaml'}:")
    plain = CliRunner().invoke(program, ["check", *paths])
    assert "::" not in plain.stdout


def test_junit_counts_and_reports(tmp_path: Path) -> None:
    bad = file(tmp_path, DRAWN + "    expect: {moves: [web n1 -> n<3>]}\n")
    results = [*run([bad]), Result("other_test.yaml", 3, "fine & well")]
    root = fromstring(to_junit(results))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    (failure,) = root.iter("failure")
    assert "- expected web n1 -> n<3>" in (failure.text or "")
    assert [case.get("name") for case in root.iter("testcase")] == ["it", "fine & well"]
    assert "2 policy tests in 2 files, 1 failed" in to_text(results)


def test_a_policy_test_sees_what_a_plan_sees(tmp_path: Path) -> None:
    """The only replica keeps its node, so that the node is not to be freed: nothing is charged."""
    pack = POLICY.partition("---\n")[2].replace("50%", "80%")
    pack = pack.replace("  targets", "  strategy: Pack\n  cold: 20%\n  targets")
    drawn = """\
    cluster: |
      zone a | n1 | solo
      zone a | n2 | warm warm
    readings:
      node.cpu: {n1: 10%, n2: 40%}
      pod.cpu: {solo: 0.8, warm: 1.6}
    expect: {cost: {hot: 0}, candidates: {hot: []}, findings: {hot: []}, moves: []}
"""
    assert reported(tmp_path, drawn) == []


def test_of_pods_above_a_maximum_priority_none_is_a_candidate(tmp_path: Path) -> None:
    policy = POLICY.partition("---\n")[2] + "  maxPriority: 5\n"
    drawn = """\
    cluster: |
      zone a | n1 | web api
      zone a | n2 | -
    specs: {web: {priority: 10}}
    readings:
      node.cpu: {n1: 90%, n2: 10%}
      pod.cpu: {web: 3, api: 3}
    expect: {candidates: {hot: [api]}}
"""
    assert reported(tmp_path, drawn, policy) == []

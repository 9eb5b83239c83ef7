"""How problems of policy files are shown: short, aligned, harmless, and with advice."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rescheduler.cli.main import program
from rescheduler.documents.file_problems import FileProblem, TextSpan
from rescheduler.model.errors import PolicyError
from rescheduler.sources.policy_files import load_policies

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: {kind}\nmetadata: {{name: s}}\nspec:\n"
SPREAD = HEAD.format(kind="Spread")


def refusal(folder: Path, text: str) -> str:
    (folder / "a.yaml").write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_policies(folder / "a.yaml")
    return str(caught.value)


def test_a_file_that_is_too_large_is_text_in_a_few_words(tmp_path: Path) -> None:
    text = refusal(tmp_path, "a: " + "x" * 300_000)
    assert "a.yaml:1:1: the file is larger than 256 KiB" in text
    assert len(text) < 400 + 2 * len(str(tmp_path))


def test_of_a_long_line_only_the_part_around_the_place_is_shown(tmp_path: Path) -> None:
    text = refusal(
        tmp_path, SPREAD + f"  {{match: {{all: true}}, {' ' * 5000}maxSkw: 1, mode: Audit}}\n"
    )
    lines = text.splitlines()
    shown = next(line for line in lines if line.startswith("     5 | "))
    caret = lines[lines.index(shown) + 1]
    assert len(shown) < 140
    assert shown[caret.index("^") :].startswith("maxSkw: 1")
    assert caret.count("^") == len("maxSkw")


def test_a_long_key_is_cut_in_the_message(tmp_path: Path) -> None:
    text = refusal(tmp_path, SPREAD + f"  match: {{all: true}}\n  ? {'k' * 20_000}\n  : 1\n")
    assert f"spec.{'k' * 60}…: unknown field `{'k' * 60}…`" in text
    assert len(text) < 500 + 2 * len(str(tmp_path))


def test_a_tab_is_shown_as_one_and_text(tmp_path: Path) -> None:
    text = refusal(tmp_path, SPREAD + "  match:\n\t  all: true\n").splitlines()
    assert "     6 | →  all: true" in text
    assert "       | ^" in text
    assert "  Maybe blanks instead of the tab (shown as →); YAML indents with blanks" in text


def test_what_a_file_holds_cannot_steer_the_terminal(tmp_path: Path) -> None:
    text = refusal(tmp_path, SPREAD + '  match: {all: true}\n  "\\e[2J\\nx": 1\n')
    assert "\x1b" not in text
    assert "spec.\\x1b[2J\\nx: unknown field" in text
    text = refusal(tmp_path, SPREAD + '  match: {labels: {"\\e[2J": "\\a"}}\n')
    assert "\x1b" not in text
    assert "  Maybe `matchLabels: {\\x1b[2J: \\x07}`" in text
    raw = FileProblem(TextSpan(1, 4), "odd").report("f", "ab\x1bcd\x07")
    assert raw.splitlines()[1] == "     1 | ab?cd?"


def test_the_lines_are_those_of_yaml() -> None:
    # A form feed and a vertical tab end no line in YAML.
    text = FileProblem(TextSpan(2, 1), "odd").report("f", "a\x0cb\x0bc\r\nd: 1\n")
    assert text.splitlines()[1] == "     2 | d: 1"


def test_all_problems_are_prefixed_alike(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SPREAD + "  match: {all: true}\n  maxSkw: 1\n  mood: 1\n")
    answer = CliRunner().invoke(program, ["check", str(tmp_path)])
    assert answer.exit_code == 2
    lines = [line for line in answer.output.splitlines() if "unknown field" in line]
    assert len(lines) == 2
    assert all(line.startswith(f"{tmp_path}/a.yaml:") for line in lines)
    assert answer.output.startswith("error: 2 problems in 1 of 1 file\n")


@pytest.mark.parametrize(
    ("kind", "spec", "text", "advice"),
    [
        (
            "Spread",
            "{match: {labels: {app: web}}}",
            "5:21: spec.match.labels.app: unknown field `app`",
            "`matchLabels: {app: web}`",
        ),
        (
            "Spread",
            "{match: {labels: {matchExpressions: [{key: a, operator: in, values: [b]}]}}}",
            "operator: must be 'In', 'NotIn', 'Exists' or 'DoesNotExist' (got 'in')",
            "`In`",
        ),
        (
            "Utilization",
            "{match: {all: true}, nodes: {all: true}, targets: {cpu: {high: 70 %}}}",
            "targets.cpu.high: must be a percentage such as 50% or a ratio such as 0.5",
            "`70%`",
        ),
        ("Spread", "{match: {all: true}, stableFor: 10 m}", "a duration with a unit", "`10m`"),
        ("Spread", "{match: {all: true}, stableFor: 1H}", "a duration with a unit", "`1h`"),
        ("Spread", "{match: {all: true}, maxSkew: '1'}", "a whole number", "`1`, without quotes"),
        ("Spread", "{match: {namespaces: [1]}}", "namespaces.0: must be text", "`'1'`, in quotes"),
        ("Limits", "{movesPerNode: 10 %}", "a percentage such as 10% (got '10 %')", "`10%`"),
        ("Limits", "{movesPerNode: 0.25}", "a whole number, 0 or more, or a perc", "`25%`"),
        ("Limits", "{movesPerNode: '3'}", "a whole number, 0 or more", "`3`, without quotes"),
        ("Spread", "{match: {all: true}, Mode: Audit}", "unknown field `Mode`", "`mode`"),
    ],
)
def test_what_was_probably_meant_is_text(
    tmp_path: Path, kind: str, spec: str, text: str, advice: str
) -> None:
    answer = refusal(tmp_path, HEAD.format(kind=kind) + f"  {spec}\n")
    assert text in answer
    assert f"\n  Maybe {advice}" in answer


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("DeschedulerPolicy", "`rescheduler convert descheduler FILE`, which writes its plugins"),
        ("KubeSchedulerConfiguration", "name this file as `configFile`"),
        ("scheduler", "`Scheduler`"),
        ("Deployment", "one of Allocation, Conformity, Fragmentation"),
    ],
)
def test_a_kind_of_others_does_not_suggest_what_only_sounds_like_it(
    tmp_path: Path, kind: str, advice: str
) -> None:
    text = refusal(tmp_path, HEAD.format(kind=kind) + "  {}\n")
    assert f"2:7: kind: unknown kind `{kind}`" in text
    assert f"  Maybe {advice}" in text


def test_a_level_that_is_not_there_is_reported_where_it_is_named(tmp_path: Path) -> None:
    spec = (
        "  match: {all: true}\n"
        "  groups:\n"
        "    - {pods: {all: true}, together: rack}\n"
        "    - {pods: {all: true}, together: host,\n"
        "       apart: racks}\n"
        "  distances: {level: zones, series: s, source: a, destination: b}\n"
    )
    text = refusal(tmp_path, HEAD.format(kind="Locality") + spec)
    assert "a.yaml:9:15: spec.groups.1.apart: there is no level `racks`; levels are host" in text
    assert "     9 |        apart: racks}\n       |               ^^^^^\n  Maybe `rack`" in text


FOREIGN = {
    "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nnodeSelector: a=b\n\n": (
        "`rescheduler convert descheduler FILE`, which writes its plugins as policies of ours: "
    ),
    "apiVersion: aks.azure.com/v1alpha1\nkind: SchedulerConfiguration\nspec: {rawConfig: ''}\n": (
        "the text of its spec.rawConfig in a file of its own"
    ),
    "apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {name: cluster}\n": (
        "`rescheduler convert descheduler FILE`, which writes its profiles as policies of ours"
    ),
    "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n": "the text of one key of its data",
    "apiVersion: apps/v1\nkind: Deployment\nstatus: {}\n": "leave it out",
}


@pytest.mark.parametrize(("text", "advice"), FOREIGN.items())
def test_another_program_s_document_is_one_problem(tmp_path: Path, text: str, advice: str) -> None:
    answer = refusal(tmp_path, text)
    assert answer.count("a.yaml:") == 1, answer
    assert ":2:7: kind: `" in answer
    assert f"  Maybe {advice}" in answer


def test_values_of_descheduler_s_chart_are_one_problem_with_the_verb(tmp_path: Path) -> None:
    answer = refusal(tmp_path, "kind: CronJob\nreplicas: 1\ndeschedulerPolicy: {profiles: []}\n")
    assert answer.count("a.yaml:") == 1
    assert "a.yaml:3:1: deschedulerPolicy: is no field of ours" in answer
    assert "  Maybe `rescheduler convert descheduler FILE`" in answer


def test_a_misspelled_group_of_ours_is_no_other_program(tmp_path: Path) -> None:
    text = "apiVersion: rescheduler.oi/v1\nkind: Sprad\nmetadata: {name: a}\nspec: {}\n"
    answer = refusal(tmp_path, text)
    assert "unknown kind `Sprad`" in answer
    assert "apiVersion: must be" in answer

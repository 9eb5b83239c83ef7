"""What can never hold, or has no effect, is refused before it runs, at its place."""

import re
from pathlib import Path

import pytest

from rescheduler.model.errors import PolicyError
from rescheduler.sources.policy_files import load_policies

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: {kind}\nmetadata: {{name: s}}\nspec:\n"


def report_of(folder: Path, kind: str, spec: str) -> str:
    """What is reported of the file, "" where it is accepted."""
    (folder / "a.yaml").write_text(HEAD.format(kind=kind) + f"  {spec}\n")
    try:
        load_policies(folder / "a.yaml")
    except PolicyError as error:
        return str(error)
    return ""


def expressions(*given: str) -> str:
    return f"matchExpressions: [{', '.join(f'{{key: a, {expression}}}' for expression in given)}]"


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (
            expressions("operator: In, values: [x]", "operator: NotIn, values: [x]"),
            "nothing satisfies this together with the other requirements of `a`",
        ),
        (
            expressions("operator: In, values: [x, y]", "operator: NotIn, values: [y, x]"),
            "matchExpressions.1: nothing satisfies this",
        ),
        (
            expressions("operator: In, values: [x]", "operator: In, values: [y]"),
            "matchExpressions.1: nothing satisfies this",
        ),
        (
            "matchLabels: {a: x}, " + expressions("operator: NotIn, values: [x]"),
            "matchExpressions.0: nothing satisfies this",
        ),
        (
            "matchLabels: {a: x}, " + expressions("operator: DoesNotExist"),
            "matchExpressions.0: nothing satisfies this",
        ),
        (
            expressions("operator: DoesNotExist", "operator: Exists"),
            "matchExpressions.1: nothing satisfies this",
        ),
        (
            expressions("operator: DoesNotExist", "operator: In, values: [x]"),
            "matchExpressions.1: nothing satisfies this",
        ),
        (expressions("operator: In, values: [x, y]", "operator: NotIn, values: [x]"), ""),
        (expressions("operator: DoesNotExist", "operator: NotIn, values: [x]"), ""),
        (expressions("operator: Exists", "operator: NotIn, values: [x]"), ""),
        ("matchLabels: {a: x}, " + expressions("operator: In, values: [x, y]"), ""),
    ],
)
def test_a_selector_that_nothing_can_satisfy(tmp_path: Path, selector: str, message: str) -> None:
    answer = report_of(tmp_path, "Spread", f"{{match: {{labels: {{{selector}}}}}}}")
    assert (message in answer) if message else answer == ""
    if message:
        line, column = answer.splitlines()[1].split("a.yaml:")[1].split(":")[:2]
        assert (line, int(column) > 40) == ("5", True)


def test_min_domains_are_of_hard_constraints_alone(tmp_path: Path) -> None:
    spec = "{match: {all: true}, constraints: [{topologyKey: a, minDomains: 2, %s}]}"
    answer = report_of(tmp_path, "Spread", spec % "whenUnsatisfiable: ScheduleAnyway")
    assert "5:67: spec.constraints.0.minDomains: only with `whenUnsatisfiable:" in answer
    assert report_of(tmp_path, "Spread", spec % "maxSkew: 2") == ""


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("(((", "the ( at character 3 is never closed"),
        ("sum(x))", "the ) at character 7 closes nothing"),
        ("sum(x]", "the ] at character 6 is where the ( at character 4 must be closed"),
        ('x{a="b}', 'the quote " at character 5 is never closed'),
        ("sum(rate(x[]))", "the [] at character 11 holds nothing"),
        ("a + ()", "the () at character 5 holds nothing"),
        ("sum(x) +", "it ends with the operator +"),
        ("sum(x) and # more", "it ends with the operator and"),
        ("x unless", "it ends with the operator unless"),
        ("x + and", ""),
        ("# nothing", "it holds nothing"),
        ("   ", "it holds nothing"),
        ('sum(rate(x{a="(", b=~\'[)\', c=`"`}[$window])) # :)', ""),
        ("time() - sum without () (x)", ""),
        ("sum by () (x) / on() group_left() y", ""),
        ('label_replace(x, "a", "$1", "b", "(.*)")', ""),
    ],
)
def test_promql_that_cannot_be_parsed(tmp_path: Path, query: str, message: str) -> None:
    quoted = "'" + query.replace("'", "''") + "'"
    far = f"{{series: s, source: a, destination: b, query: {quoted}}}"
    answer = report_of(
        tmp_path, "Locality", f"{{match: {{all: true}}, podAffinity: true, distances: {far}}}"
    )
    assert (message in answer) if message else answer == ""
    if message:
        assert "spec.distances.query" in answer


CONFLICTS = {
    "constraints exclude": (
        "Spread",
        ["match: {all: true}", "maxSkew: 1", "constraints: FromPods"],
        [6, 7],
    ),
    "coolDownCap": ("Limits", ["coolDown: 2h", "movesPerHour: 1", "coolDownCap: 1h"], [5, 7]),
    "excludes the other fields": ("Spread", ["match:", "  namespaces: [a]", "  all: true"], [7]),
    "another target is of cpu too": (
        "Allocation",
        [
            "match: {all: true}",
            "nodes: {all: true}",
            "resources:",
            "  - {resource: cpu}",
            "  - {resource: memory}",
            "  - {resource: cpu, target: 50%}",
        ],
        [10, 8],
    ),
    "low must not be above high": (
        "Utilization",
        [
            "match: {all: true}",
            "nodes: {all: true}",
            "targets:",
            "  cpu:",
            "    low: 60%",
            "    high: 50%",
        ],
        [9, 10],
    ),
}


@pytest.mark.parametrize("message", CONFLICTS)
def test_a_conflict_of_fields_is_shown_at_each_of_them(message: str, tmp_path: Path) -> None:
    """The line that is named first is that of a field, and no innocent one."""
    kind, fields, lines = CONFLICTS[message]
    said = report_of(tmp_path, kind, "\n  ".join(fields))
    assert message in said
    shown = [int(found) for found in re.findall(r"^ +(\d+) \| ", said, re.MULTILINE)]
    assert shown == lines
    assert f"a.yaml:{lines[0]}:" in said


def test_a_percentage_above_all_of_it_is_said_to_be_one(tmp_path: Path) -> None:
    assert "must be at most 100% (got '120%')" in report_of(
        tmp_path, "Limits", "movesPerCycle: 120%"
    )


def test_the_address_of_a_catalog_is_not_its_name(tmp_path: Path) -> None:
    spec = 'match: {all: true}\n  datasets: {catalog: "http://catalog:80/x"}'
    assert "--dataset-catalogs" in report_of(tmp_path, "Locality", spec)

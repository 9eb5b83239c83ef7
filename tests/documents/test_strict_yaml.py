"""YAML 1.2 scalars, and everything else refused at its place."""

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.documents.file_problems import FileProblem, TextSpan
from rescheduler.documents.strict_yaml import MAX_BYTES, MAX_DEPTH, read, tree_of_value
from tests.cases import every
from tests.draws import tries


def only(text: str) -> Any:
    [tree], file_problems = read(text)
    assert file_problems == []
    return tree.plain()


def first(text: str) -> FileProblem:
    _, file_problems = read(text)
    return file_problems[0]


@pytest.mark.parametrize(
    "text",
    [
        *("no", "yes", "on", "off", "True", "FALSE", "y", "n", "Null", "NULL"),
        *("22:30", "010", "0o7", "0x1F", "1_000", "+5", ".5", "5.", ".inf", ".nan", "1e999"),
        *("2026-11-21", "<<", "=", "90s", "50%", "9" * 19, "--", "1.2.3"),
    ],
)
def test_stays_text(text: str) -> None:
    assert only(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("true", True), ("false", False), ("null", None), ("~", None), ("", None)),
        *(("0", 0), ("-7", -7), ("0.5", 0.5), ("1e3", 1000.0), ("-1.5E-2", -0.015)),
        *(('"5"', "5"), ("'true'", "true"), ('""', ""), ("|\n  x", "x")),
    ],
)
def test_means(text: str, value: Any) -> None:
    answer = only(f"a: {text}")["a"]
    assert answer == value
    assert type(answer) is type(value)


@every(
    [
        ("a: 1\nb: 2\na: 3", 3, 1, "the key `a` was given in line 1 already"),
        ("a: {b: 1, c: 2, b: 3}", 1, 17, "the key `b` was given in line 1 already"),
        ("a: &x 1", 1, 4, "anchors and aliases"),
        ("a: &x [1]\nb: *x", 1, 4, "anchors and aliases"),
        ("a: !!python/object:os.system x", 1, 4, "the tag"),
        ("a: !!str 5", 1, 4, "the tag"),
        ("1: a", 1, 1, "a key must be text"),
        ("true: a", 1, 1, "a key must be text"),
        ("? [a]\n: b", 1, 3, "a key must be text"),
        ("a: [b", 1, 6, "not YAML"),
        ("a: b: c", 1, 5, "not YAML"),
        ("a:\n\tb: 1", 2, 1, "not YAML"),
        ("a: 1\n%x", 2, 3, "not YAML"),
        ("a: \x07", 1, 4, "a character is not allowed"),
        ("[" * (MAX_DEPTH + 1), 1, MAX_DEPTH + 1, "nested deeper"),
        ("a: 1\n" * 60_000, 1, 1, "larger than 256 KiB"),
    ]
)
def test_is_refused_at_its_place(text: str, line: int, column: int, message: str) -> None:
    file_problem = first(text)
    assert message in file_problem.message
    assert (file_problem.mark.line, file_problem.mark.column) == (line, column)


def test_a_bomb_of_aliases_is_not_expanded() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else 'x'}]" for n in range(9)]
    started = time.process_time()
    _, file_problems = read("\n".join(levels))
    assert len(file_problems) >= 9
    assert time.process_time() - started < 2


def test_a_deep_file_of_full_size_does_not_exhaust_the_stack() -> None:
    assert "nested deeper" in first("[" * (MAX_BYTES - 1)).message
    assert "nested deeper" in first("{a: " * (MAX_BYTES // 4 - 1)).message


def test_several_documents_and_empty_ones() -> None:
    trees, file_problems = read("---\na: 1\n---\n# nothing\n---\nb: 2\n...\n")
    assert [tree.plain() for tree in trees] == [{"a": 1}, {"b": 2}]
    assert [tree.mark.line for tree in trees] == [2, 6]
    assert file_problems == []


def test_the_place_is_shown_with_a_caret() -> None:
    shown = FileProblem(TextSpan(2, 3, 4), "x: is odd", "`y`").report("f.yaml", "a:\n  oddx: 1\n")
    assert shown.splitlines() == [
        "f.yaml:2:3: x: is odd",
        "     2 |   oddx: 1",
        "       |   ^^^^",
        "  Maybe `y`",
    ]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.text("abcé: #-'\"\n", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner),
    max_leaves=8,
)


@settings(max_examples=tries(200))
@given(value=st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, min_size=1))
def test_what_another_writer_wrote_is_read_back(value: dict[str, Any]) -> None:
    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    assert only(yaml.dump(value, Dumper=Plain, allow_unicode=True)) == value
    assert tree_of_value(value).plain() == value


@settings(max_examples=150)
@given(text=st.text("ab:{}[],&*!|>-?'\"# \n\t%~0", max_size=30) | st.text(max_size=12))
def test_no_text_is_a_crash(text: str) -> None:
    trees, file_problems = read(text)
    for file_problem in file_problems:
        assert file_problem.report("f", text)
    for tree in trees:
        tree.plain()

"""The counts hold what they are for, and none has risen."""

import pytest

from tests.cases import every
from tests.language.counts import CASES, is_bare, is_private, sizes
from tests.language.maxima import read_maxima


@pytest.mark.parametrize("name", CASES)
def test_no_count_has_risen(name: str) -> None:
    cases = CASES[name]()
    assert len(cases) <= read_maxima()[name], (
        f"say it in plain words; `python -m tests.language --show {name}` prints all of them"
    )


def test_what_tests_read_stays_small_enough_to_be_looked_at() -> None:
    # A golden that is like another one holds what differs (tests/reporting/variants.py), and a
    # go.sum only the modules that its go.mod names.
    assert sizes()["lines of other test files"] <= 25_700


@every(["of", "_told", "_freed", "_left", "_given", "arriving", "ours"])
def test_a_preposition_participle_or_pronoun_names_no_function(name: str) -> None:
    assert is_bare(name)


@every(["read", "of_node", "asked_for", "need", "__call__", "reading"])
def test_a_verb_a_noun_or_several_words_name_a_function(name: str) -> None:
    assert not is_bare(name)


def test_a_private_word_is_seen_as_a_name_or_as_a_part_of_one() -> None:
    assert all(map(is_private, ["told", "_ToldNodes", "left", "_found", "pods_awaited"]))
    assert not any(map(is_private, ["left_side", "found_at", "steered", "nodes", "basked"]))

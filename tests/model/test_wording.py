"""Numbers in sentences."""

from rescheduler.model.wording import count_text, ordinal, verb_for
from tests.cases import every


@every([(0, "0 pods"), (1, "1 pod"), (2, "2 pods"), (1500, "1,500 pods")])
def test_a_noun_goes_with_its_number(number: int, reported: str) -> None:
    assert count_text(number, "pod") == reported


def test_an_irregular_plural_and_a_verb_go_with_theirs() -> None:
    assert [count_text(n, "policy", "policies") for n in (1, 2)] == ["1 policy", "2 policies"]
    assert [verb_for(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]


def test_an_ordinal_has_its_ending() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4)] == ["1st", "2nd", "3rd", "4th"]
    assert [ordinal(n) for n in (11, 12, 13, 21)] == ["11th", "12th", "13th", "21st"]

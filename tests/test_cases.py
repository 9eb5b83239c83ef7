"""A test over many cases fails with each of them that failed."""

import pytest

from tests.cases import every, numbered


def test_every_case_that_fails_is_named_and_no_other() -> None:
    @every({"one": (1,), "two": (2,), "three": (3,), "four": (4,)})
    def odd(number: int) -> None:
        if number == 4:
            pytest.fail("four")
        assert number % 2 == 1, f"{number} is even"

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases failed: two, four") as caught:
        odd()
    first, second = caught.value.exceptions
    assert "2 is even" in str(first)
    assert first.__notes__ == ["This is the case 'two'."]
    assert str(second) == "four"


def test_a_case_that_skips_hides_no_other() -> None:
    seen = []

    @every(numbered([1, 2, 3]))
    def odd(number: int) -> None:
        seen.append(number)
        if number == 2:
            pytest.skip("not today")
        assert number == 3, f"{number} is not three"

    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed: 0, 1"):
        odd()
    assert seen == [1, 2, 3]


def test_marks_of_the_check_are_marks_of_the_test() -> None:
    @every(numbered([1]))
    @pytest.mark.long
    def check(number: int) -> None: ...

    @every(numbered([1]))
    def plain(number: int) -> None: ...

    assert [mark.name for mark in check.pytestmark] == ["long"]
    assert not hasattr(plain, "pytestmark")


def test_all_cases_are_tried() -> None:
    seen = []

    @every(numbered(["a", ("b",), "c"]))
    def note(letter: str) -> None:
        seen.append(letter)

    note()
    assert seen == ["a", "b", "c"]


def test_no_case_is_no_test() -> None:
    with pytest.raises(ValueError, match="cannot fail"):
        every({})

"""A golden that is written as a difference is the same text as a whole one."""

from hypothesis import given
from hypothesis import strategies as st

from tests.reporting.conftest import GOLDEN
from tests.reporting.variants import BASES, apply, difference

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "  b\n", "\n", "-\n", "+\n", "@@ 1,1\n"]))


@given(before=TEXTS, after=TEXTS)
def test_what_differs_gives_the_text_again(before: list[str], after: list[str]) -> None:
    assert apply(difference(before, after), before) == "".join(after)


@given(text=TEXTS)
def test_what_does_not_differ_takes_no_line(text: list[str]) -> None:
    assert difference(text, text) == ""


def test_each_golden_stands_once() -> None:
    assert all((GOLDEN / f"{name}.diff").exists() for name in BASES)
    assert not [name for name in BASES if (GOLDEN / name).exists()]

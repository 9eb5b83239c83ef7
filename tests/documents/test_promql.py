"""PromQL in policy files, before anybody asks Prometheus."""

import pytest
from pydantic import TypeAdapter, ValidationError

from rescheduler.documents.promql import Query, SeriesSelector
from tests.cases import every


@every(["x", "a:b:c{}", 'x{a="}", b=~"c{2}$"}', "{__name__='x'}", 'x{$match a="b"}'])
def test_a_selector_is_one_name_with_matchers(text: str) -> None:
    assert TypeAdapter(SeriesSelector).validate_python(text) == text


@every(["", "rate(x[5m])", "x[5m]", "x{", 'x{a="b}', "1x", "x y"])
def test_nothing_else_is_a_selector(text: str) -> None:
    with pytest.raises(ValidationError, match="name with matchers"):
        TypeAdapter(SeriesSelector).validate_python(text)


def test_a_query_knows_the_names_that_are_filled_in() -> None:
    for good in ('sum(rate(x{$match a=~"b$"}[$window]))', "a\nor b[$step]"):
        assert TypeAdapter(Query).validate_python(good) == good
    for bad in ("", "rate(x[$windw])", "x[$windows]"):
        with pytest.raises(ValidationError, match=r"\$window and \$match"):
            TypeAdapter(Query).validate_python(bad)

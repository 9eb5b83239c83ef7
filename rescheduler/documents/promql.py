"""PromQL that operators write, as far as it can be checked without asking Prometheus."""

import re
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.promql_syntax import unreadable

_QUOTED = r'"(\\.|[^"\\])*"|' + r"'(\\.|[^'\\])*'"
_MATCHERS = r"\{([^{}\x22']|" + _QUOTED + r")*\}"
SELECTOR_PATTERN = rf"^\s*([a-zA-Z_:][a-zA-Z0-9_:]*\s*({_MATCHERS})?|{_MATCHERS})\s*$"
"""One instant vector selector: a name, matchers in braces, or both; no range and no function."""

QUERY_PATTERN = r"^([^$]|\$(window|step|span|match)\b|\$[^a-zA-Z_])+$"
"""Anything whose `$name`s are ones that are filled in."""


def _selector(value: str) -> str:
    if not re.search(SELECTOR_PATTERN, value):
        raise ValueError(
            'must be a name with matchers, such as `bytes_total{job="mesh"}`, without range or '
            "function"
        )
    return value


def _query(value: str) -> str:
    if not re.search(QUERY_PATTERN, value):
        raise ValueError("must be PromQL; of names with a `$` there are $window and $match")
    wrong = unreadable(value)
    if wrong:
        raise FieldError(f"not PromQL: {wrong}")
    return value


SeriesSelector = Annotated[
    str,
    AfterValidator(_selector),
    WithJsonSchema({"type": "string", "pattern": SELECTOR_PATTERN}),
]
Query = Annotated[
    str, AfterValidator(_query), WithJsonSchema({"type": "string", "pattern": QUERY_PATTERN})
]

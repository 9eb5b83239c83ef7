"""PromQL that operators write, as far as it can be checked without asking Prometheus."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from rescheduler.documents.field_problems import FieldError

_CLOSING = {")": "(", "]": "[", "}": "{"}
_EMPTY = re.compile(r"(?:^|[^\w\s]|\b(?:and|or|unless)\b)\s*(\(\s*\))|(\[\s*\])")
"""Empty parentheses that are of no function and no list of labels, and an empty range."""
_OPERAND = r"(?:[)\]}]\s*|\b(?!(?:and|or|unless|atan2|bool)\b)\w+\s+)"
_UNFINISHED = re.compile(rf"(?:([-+*/%^=<>!~@,])|{_OPERAND}(and|or|unless))\s*$")
"""An operator at the end. Its words may be names of metrics, but not beside another operand."""

_QUOTED_OR_COMMENT = re.compile(
    r"#[^\n]*" + r'|"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'" + r"|`[^`]*`"
)
"""Only between backticks a text may go on in the next line."""
_OPENING = re.compile(r"[#\"'`]")


def unreadable(query: str) -> str:
    """Why Prometheus could not read it, "" if nothing is found.

    Quotes, brackets and the end are checked; what names mean is left to Prometheus, which knows
    more functions than we and is not always Prometheus. Source: promql/parser/lex.go.
    """
    bare, open_quote = _without_quotes(query)
    if open_quote >= 0:
        return f"the quote {query[open_quote]} at character {open_quote + 1} is never closed"
    opened: list[int] = []
    for place, character in enumerate(bare):
        if character in _CLOSING.values():
            opened.append(place)
        elif character in _CLOSING:
            if not opened:
                return f"the {character} at character {place + 1} closes nothing"
            first = opened.pop()
            if bare[first] != _CLOSING[character]:
                return (
                    f"the {character} at character {place + 1} is where the {bare[first]} at "
                    f"character {first + 1} must be closed"
                )
    if opened:
        return f"the {bare[opened[-1]]} at character {opened[-1] + 1} is never closed"
    return _incomplete(bare)


def _incomplete(bare: str) -> str:
    if not bare.strip():
        return "it holds nothing"
    empty = _EMPTY.search(bare)
    if empty is not None:
        place = empty.start(1) if empty.group(1) else empty.start(2)
        return f"the {bare[place]}{empty.group(0)[-1]} at character {place + 1} holds nothing"
    unfinished = _UNFINISHED.search(bare)
    return (
        f"it ends with the operator {unfinished[unfinished.lastindex or 0]}" if unfinished else ""
    )


def _without_quotes(query: str) -> tuple[str, int]:
    """The query with blanks for all quoted text and comments, and where an open quote is, or -1."""
    bare, end = "", 0
    while opening := _OPENING.search(query, end):
        place = opening.start()
        token = _QUOTED_OR_COMMENT.match(query, place)
        if token is None:
            return "", place
        # A quoted text is a value: what is before it is no empty place.
        kept = "" if opening.group() == "#" else "x"
        bare += query[end:place] + kept.ljust(len(token.group()))
        end = token.end()
    return bare + query[end:], -1


_LABEL_LISTS = re.compile(
    r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", re.IGNORECASE
)
_OFFSET = re.compile(r"\boffset\s+-?\w+|@\s*[\w.]+", re.IGNORECASE)
_SELECTED = re.compile(r"([a-zA-Z_:][\w:]*)?\s*(\{[^{}]*\})|([a-zA-Z_:][\w:]*)(?!\s*\()(?![\w:])")
_WORDS = frozenset(
    {"and", "or", "unless", "bool", "by", "without", "on", "ignoring", "inf", "nan", "atan2"}
)
"""What is no name of a metric without anything behind it, whatever its capitals."""


def selectors(query: str) -> list[str]:
    """Every vector selector of a query that can be read, as it is written, without its range."""
    bare, _ = _without_quotes(query)
    for pattern in (_LABEL_LISTS, _OFFSET, re.compile(r"\[[^\]]*\]")):
        bare = pattern.sub(lambda match: " " * len(match.group()), bare)
    # A number may hold letters (1e9, 0x1F), and so may a parameter (5m): none begins a name.
    bare = re.sub(r"(?<![\w:])\d[\w.]*", lambda match: " " * len(match.group()), bare)
    return [
        query[match.start() : match.end()].strip()
        for match in _SELECTED.finditer(bare)
        if match[2] or (query[match.start()] not in "\"'`" and match[3].lower() not in _WORDS)
    ]


def selector_without_match(query: str) -> str:
    """The first selector without `$match`, with which it would read every cluster; "" if none."""
    return next((selector for selector in selectors(query) if not _has_match(selector)), "")


def _has_match(selector: str) -> bool:
    """Whether `$match` narrows all of a selector: not in quotes or a comment, and no alternative.

    VictoriaMetrics takes `{a="b" or c="d"}`; only one side would be narrowed.
    """
    bare, _ = _without_quotes(selector)
    _, _, inside = bare.partition("{")
    return "$match" in inside and not re.search(r"\bor\b", inside)


_QUOTED = r'"(\\.|[^"\\])*"|' + r"'(\\.|[^'\\])*'"
_MATCHERS = r"\{([^{}\x22']|" + _QUOTED + r")*\}"
SELECTOR_PATTERN = rf"^\s*([a-zA-Z_:][a-zA-Z0-9_:]*\s*({_MATCHERS})?|{_MATCHERS})\s*$"
"""One instant vector selector: a name, matchers in braces, or both; no range and no function."""

QUERY_PATTERN = r"^([^$]|\$(window|step|span|match|node|pod|links)\b|\$[^a-zA-Z_])+$"
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
        raise ValueError(
            "must be PromQL; of names with a `$` there are $window and $match, besides $node, $pod "
            "and $links"
        )
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
PrometheusLabel = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]


def require_match(query: str) -> str:
    """A query where each selector takes the matchers of one cluster."""
    vector_selectors = selectors(query)
    if not vector_selectors:
        raise FieldError("selects no series")
    wide = selector_without_match(query)
    if wide:
        name, brace, rest = wide.partition("{")
        hint = f"`{name.strip()}{{$match {rest.lstrip()}`" if brace else f"`{name}{{$match}}`"
        raise FieldError(
            f"`{wide}` has no $match, so it would read every cluster of the metric source",
            hint=hint,
        )
    return query


OwnQuery = Annotated[
    Query,
    AfterValidator(require_match),
    WithJsonSchema(
        {"type": "string", "allOf": [{"pattern": QUERY_PATTERN}, {"pattern": r"\$match"}]}
    ),
]
"""PromQL in which every selector has `$match`."""

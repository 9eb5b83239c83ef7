"""Types of the fields of foreign documents: percentages, durations, selectors, namespaces."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict, duration_text
from rescheduler.documents.label_names import LabelValues, NamespaceName
from rescheduler.documents.label_selector import Requirement, Selector
from rescheduler.kube.go_durations import go_seconds
from rescheduler.policies.conversion.outcomes import Becomes

Count = Annotated[int, Field(ge=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
Thresholds = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=316)], Percent], Field(min_length=1)
]
"""Resource to percent of what is allocatable."""


def _go_duration(value: Any) -> Any:
    seconds = go_seconds(value) if isinstance(value, str) else None
    if seconds is None:
        raise FieldError("must be a duration of Go such as 90s, 10m or 1h30m, as text")
    return timedelta(seconds=seconds)


GoDuration = Annotated[timedelta, BeforeValidator(_go_duration)]

_TERM = re.compile(
    r"\s*(?:"
    r"(?P<absent>!)\s*(?P<absent_key>[^\s,!=()]+)"
    r"|(?P<set_key>[^\s,!=()]+)\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<key>[^\s,!=()]+)\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[^\s,!=()]*))?"
    r")\s*(?:,|$)"
)
"""One requirement. Source: k8s.io/apimachinery v0.36, pkg/labels/selector.go, Parse."""


def parse_selector(text: str) -> list[Requirement]:
    """The requirements of a label selector in one line, such as `a=b,c!=d,e in (f,g),!h`."""
    requirements, at = [], 0
    while at < len(text.rstrip()):
        term = _TERM.match(text, at)
        if term is None:
            raise FieldError(
                "must be a label selector such as `a=b,c!=d,e in (f,g)`; "
                f"`{text[at : at + 40]}` is none"
            )
        requirements.append(_requirement(term.groupdict()))
        at = term.end()
    return requirements


def _requirement(term: dict[str, str | None]) -> Requirement:
    if term["absent"]:
        return _build_requirement(term["absent_key"], "DoesNotExist")
    if term["set"]:
        names = [value.strip() for value in (term["values"] or "").split(",")]
        return _build_requirement(term["set_key"], "In" if term["set"] == "in" else "NotIn", names)
    if term["sign"] is None:
        return _build_requirement(term["key"], "Exists")
    return _build_requirement(
        term["key"], "NotIn" if term["sign"] == "!=" else "In", [term["value"] or ""]
    )


def _build_requirement(
    key: str | None, operator: str, values: list[str] | None = None
) -> Requirement:
    fields = {"key": key, "operator": operator, "values": values or []}
    return Requirement.model_validate(fields)


def _selector_text(value: Any) -> Any:
    if not isinstance(value, str):
        raise FieldError("must be a label selector in one line, such as `a=b,c!=d`")
    try:
        selector_spec(parse_selector(value))
    except ValidationError as error:
        first = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise FieldError(f"must be a label selector, and {first}") from error
    return value


SelectorText = Annotated[str, BeforeValidator(_selector_text)]


def seconds_text(seconds: float) -> str:
    """A duration as our policies have it."""
    return duration_text(timedelta(seconds=int(seconds)))


class ForeignSelector(Strict):
    """A label selector of Kubernetes; an empty one selects everything."""

    matchLabels: Annotated[LabelValues | None, Becomes("`labels`")] = None
    matchExpressions: Annotated[list[Requirement] | None, Becomes("`labels`")] = None

    @property
    def requirements(self) -> list[Requirement]:
        """All that must hold."""
        equal = [
            Requirement(key=key, operator="In", values=[value])
            for key, value in (self.matchLabels or {}).items()
        ]
        return equal + list(self.matchExpressions or ())


class ForeignNamespaces(Strict):
    """Names of namespaces to include, or to exclude."""

    include: Annotated[list[NamespaceName] | None, Becomes("`namespaces` of the `match`")] = None
    exclude: Annotated[list[NamespaceName] | None, Becomes("`exclude` of the `match`")] = None


class TypedArguments(Strict):
    """Arguments of a plugin, which may name their own type."""

    apiVersion: Annotated[str | None, Becomes("the type of the arguments")] = None
    kind: Annotated[str | None, Becomes("the type of the arguments")] = None


def selector_spec(requirements: list[Requirement]) -> dict[str, Any]:
    """The requirements as a selector of ours."""
    equal: dict[str, str] = {}
    others = []
    for requirement in dict.fromkeys(_as_tuple(one) for one in requirements):
        key, operator, values = requirement
        if operator == "In" and len(values) == 1 and key not in equal:
            equal[key] = values[0]
        else:
            fields = {"key": key, "operator": operator}
            others.append(fields | ({"values": list(values)} if values else {}))
    spec: dict[str, Any] = {"matchLabels": equal} if equal else {}
    spec |= {"matchExpressions": others} if others else {}
    if spec:
        Selector.model_validate(spec)
    return spec


def _as_tuple(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, tuple(requirement.values)

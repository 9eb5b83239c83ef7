"""Label selectors as operators write them, with Kubernetes' own fields."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.documents.label_names import LabelKey, LabelValue, LabelValues


@dataclass
class _Wanted:
    """What the requirements on one key leave. values: those that it may have, None: any."""

    values: set[str] | None = None
    present: bool = False
    absent: bool = False
    refused: set[str] = field(default_factory=set)

    def add(self, operator: str, values: Iterable[str]) -> None:
        """One requirement more. Source: apimachinery pkg/labels/selector.go, Matches."""
        if operator == "In":
            self.values = set(values) if self.values is None else self.values & set(values)
        elif operator == "NotIn":
            self.refused |= set(values)
        self.present |= operator in ("In", "Exists")
        self.absent |= operator == "DoesNotExist"

    def possible(self) -> bool:
        """Whether an object can satisfy all of them."""
        if not self.present:
            return True
        return not self.absent and (self.values is None or bool(self.values - self.refused))


def refuse_conflict(
    labels: Mapping[str, str], expressions: Iterable[tuple[str, str, Iterable[str]]]
) -> None:
    """Refuse what nothing can satisfy. expressions: key, operator and values of each.

    Raises:
        FieldError: at the first expression that fits neither the labels nor those before it.
    """
    wanted = {key: _Wanted({value}, present=True) for key, value in labels.items()}
    for number, (key, operator, values) in enumerate(expressions):
        of_key = wanted.setdefault(key, _Wanted())
        of_key.add(operator, values)
        if not of_key.possible():
            message = f"nothing satisfies this together with the other requirements of `{key}`"
            raise FieldError(message, ("matchExpressions", number))


class Requirement(Strict):
    """One matchExpressions entry of a label selector."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
            "then": {"properties": {"values": {"minItems": 1}}, "required": ["values"]},
            "else": {"properties": {"values": {"maxItems": 0}}},
        }
    )

    key: LabelKey = Field(description="The label's key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How the label and the values must agree."
    )
    values: list[LabelValue] = Field(default_factory=list, description="For In and NotIn.")

    @model_validator(mode="after")
    def _values_fit(self) -> "Requirement":
        if bool(self.values) != (self.operator in ("In", "NotIn")):
            raise ValueError("In and NotIn need values, Exists and DoesNotExist take none")
        return self


class Selector(Strict):
    """A Kubernetes label selector; at least one requirement."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"matchLabels": {"minProperties": 1}}, "required": ["matchLabels"]},
                {
                    "properties": {"matchExpressions": {"minItems": 1}},
                    "required": ["matchExpressions"],
                },
            ]
        }
    )

    matchLabels: LabelValues = Field(
        default_factory=dict, description="Each key must have exactly this value."
    )
    matchExpressions: list[Requirement] = Field(default_factory=list, description="Each must hold.")

    @model_validator(mode="after")
    def _requires_something(self) -> "Selector":
        if not self.matchLabels and not self.matchExpressions:
            raise ValueError("an empty selector is refused; write `all: true` to mean everything")
        return self

    @model_validator(mode="after")
    def _can_be_satisfied(self) -> "Selector":
        """What nothing satisfies selects nothing, or excludes nothing."""
        expressions = (
            (expression.key, expression.operator, expression.values)
            for expression in self.matchExpressions
        )
        refuse_conflict(self.matchLabels, expressions)
        return self

    @property
    def requirements(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Key, operator and values of all that must hold."""
        equal = [(key, "In", (value,)) for key, value in sorted(self.matchLabels.items())]
        more = [(e.key, e.operator, tuple(e.values or ())) for e in self.matchExpressions]
        return (*equal, *more)

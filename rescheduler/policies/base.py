"""The two halves of a policy kind: the YAML model that operators write, and its term.

Unit of cost: 1.0 is one pod placed as badly as the policy can say, so that weights mean the
same in every kind.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from rescheduler.model.finding import Finding
from rescheduler.model.move import Shift
from rescheduler.model.plan import Mode
from rescheduler.model.readings import FloatArray, IntArray, Problem, ReadingRequest
from rescheduler.model.snapshot import Snapshot

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(value: Any) -> Any:
    """`90s`, `10m`, `1h30m`, `2d`; a bare number is refused because its unit would be a guess."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str) or not value:
        raise ValueError("must be a duration with a unit, such as 90s, 10m or 1h30m")
    total, digits = 0.0, ""
    for character in value:
        if character.isdigit() or character == ".":
            digits += character
        elif character in _UNITS and digits:
            total += float(digits) * _UNITS[character]
            digits = ""
        else:
            raise ValueError("must be a duration with a unit, such as 90s, 10m or 1h30m")
    if digits:
        raise ValueError("must be a duration with a unit, such as 90s, 10m or 1h30m")
    return timedelta(seconds=total)


def _ratio(value: Any) -> Any:
    """`50%` or 0.5; a number above 1 is refused because percent or ratio would be a guess."""
    if isinstance(value, str) and value.endswith("%"):
        try:
            return float(value[:-1]) / 100
        except ValueError:
            pass
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError("must be a percentage such as 50% or a ratio such as 0.5")


DURATION_PATTERN = r"^(\d+(\.\d+)?[smhd])+$"
RATIO_PATTERN = r"^\d+(\.\d+)?%$"

Duration = Annotated[
    timedelta,
    BeforeValidator(
        _duration, json_schema_input_type=Annotated[str, Field(pattern=DURATION_PATTERN)]
    ),
]
Ratio = Annotated[
    float,
    BeforeValidator(
        _ratio,
        json_schema_input_type=Annotated[float, Field(ge=0, le=1)]
        | Annotated[str, Field(pattern=RATIO_PATTERN)],
    ),
    Field(ge=0, le=1),
]


class Strict(BaseModel):
    """Common settings: frozen, unknown keys are errors, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class Requirement(Strict):
    """One matchExpressions entry of a label selector."""

    key: str = Field(min_length=1, description="The label's key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] = Field(default_factory=list, description="For In and NotIn.")


class Selector(Strict):
    """A Kubernetes label selector; at least one requirement."""

    matchLabels: dict[str, str] = Field(default_factory=dict)
    matchExpressions: list[Requirement] = Field(default_factory=list)


class Match(Strict):
    """Which objects a policy looks at. All that is given must hold; "everything" must be said."""

    all: Literal[True] | None = Field(None, description="Every object. Excludes the other fields.")
    namespaces: list[str] | None = Field(None, min_length=1, description="Names of namespaces.")
    namespaceSelector: Selector | None = Field(None, description="Labels of the namespace.")
    labels: Selector | None = Field(None, description="Labels of the object itself.")

    @model_validator(mode="after")
    def _says_something(self) -> "Match":
        narrowed = [self.namespaces, self.namespaceSelector, self.labels]
        if self.all is None and all(each is None for each in narrowed):
            raise ValueError("an empty match is refused; write `all: true` to mean every object")
        if self.all and any(each is not None for each in narrowed):
            raise ValueError("`all: true` excludes the other fields")
        return self


class Term(Protocol):
    """A policy bound to one snapshot: answers for one pod against all candidate nodes at once.

    A term keeps its own working copy of the placement. The conformance kit checks that a delta is
    the difference of costs, that the reversed shift undoes, and that findings sum to the cost.
    """

    def cost(self) -> float:
        """The policy's cost of the working copy, unweighted, never negative, never NaN."""
        ...

    def worst(self) -> float:
        """The highest cost that the policy could have on this snapshot, for the score."""
        ...

    def scope(self) -> int:
        """How many pods or nodes the policy looks at."""
        ...

    def candidates(self) -> IntArray:
        """The pods of which a move could lower the cost of the working copy, in ascending order."""
        ...

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved from where it is to each of the k nodes."""
        ...

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        ...

    def findings(self) -> Iterator[Finding]:
        """Why the cost is what it is; the findings' costs sum to `cost()`."""
        ...


class Policy(Strict):
    """What operators write. `kind` and `name` come from the envelope, the rest from `spec`."""

    summary: ClassVar[str] = ""
    """One sentence for the generated documentation."""

    kind: str
    name: str = Field(min_length=1, description="metadata.name")
    mode: Mode = Field(
        "Enforce",
        description="Audit: judged and shown, never acted on. Enforce: acted on when the run is.",
    )
    weight: float = Field(1.0, ge=0, le=1000, description="What one unit of cost counts.")

    def requests(self) -> list[ReadingRequest]:
        """The readings without which the policy has no say."""
        return []

    def compile(self, snapshot: Snapshot) -> Term | Problem:
        """The term for this snapshot, or the problem that leaves the policy without a say."""
        raise NotImplementedError

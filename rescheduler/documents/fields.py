"""Types of fields in every document: durations, ratios, and models that refuse the unknown."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from rescheduler.documents.field_problems import FieldError, FieldWarning, respelling_hint

NO_OTHERS: dict[str, Any] = {"additionalProperties": False}
"""For the schema of a mapping: no keys but those of the pattern."""


def at_least_one_of(*fields: str) -> dict[str, Any]:
    """One of the fields must be given, and not as null."""
    return {
        "anyOf": [
            {"properties": {field: {"not": {"type": "null"}}}, "required": [field]}
            for field in fields
        ]
    }


def exactly_one_of(*fields: str) -> dict[str, Any]:
    """Exactly one of the fields must be given, and not as null."""
    return {"oneOf": at_least_one_of(*fields)["anyOf"]}


def all_or(*narrowing: str) -> ConfigDict:
    """Either `all: true` without the narrowing fields, or at least one of these."""
    everything: dict[str, Any] = {"properties": {"all": {"const": True}}, "required": ["all"]}
    return ConfigDict(json_schema_extra={"oneOf": [everything, at_least_one_of(*narrowing)]})


_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_NUMBER = r"[0-9]{1,6}(\.[0-9]{1,6})?"
_PARTS = "".join(f"({_NUMBER}{unit})?" for unit in _UNITS)

DURATION_PATTERN = rf"^(?=[0-9]){_PARTS}$"
POSITIVE_DURATION_PATTERN = rf"^(?=[0-9])(?=.*[1-9]){_PARTS}$"
SPEED_PATTERN = r"^(?=.*[1-9])[0-9]{1,4}(\.[0-9]{1,3})?[MGT]$"
RATIO_PATTERN = r"^([0-9]{1,2}(\.[0-9]{1,9})?|100(\.0{1,9})?)%$"


def _duration(value: Any) -> Any:
    """`90s`, `10m`, `1h30m`, `2d`; a bare number is refused because its unit would be a guess."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str) or not re.fullmatch(DURATION_PATTERN, value):
        raise FieldError(
            "must be a duration with a unit, such as 90s, 10m or 1h30m",
            hint=respelling_hint(value, DURATION_PATTERN),
        )
    parts = re.findall(rf"({_NUMBER})([dhms])", value)
    return timedelta(seconds=sum(float(part[0]) * _UNITS[part[-1]] for part in parts))


def duration_text(value: timedelta) -> str:
    """The duration as operators write it: `1h30m`."""
    seconds = value.days * 86400 + value.seconds
    text = ""
    for unit in ("d", "h", "m"):
        whole, seconds = divmod(seconds, _UNITS[unit])
        text += f"{whole}{unit}" if whole else ""
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    return text + (f"{seconds}{fraction}s" if seconds or fraction or not text else "")


def _ratio(value: Any) -> Any:
    """`50%` or 0.5; a number above 1 is refused because percent or ratio would be a guess."""
    if isinstance(value, str) and re.fullmatch(RATIO_PATTERN, value):
        return float(value[:-1]) / 100
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise FieldError(
        "must be a percentage such as 50% or a ratio such as 0.5",
        hint=respelling_hint(value, RATIO_PATTERN),
    )


Duration = Annotated[
    timedelta,
    BeforeValidator(
        _duration, json_schema_input_type=Annotated[str, Field(pattern=DURATION_PATTERN)]
    ),
    PlainSerializer(duration_text, when_used="json"),
]
PositiveDuration = Annotated[
    timedelta,
    BeforeValidator(
        _duration, json_schema_input_type=Annotated[str, Field(pattern=POSITIVE_DURATION_PATTERN)]
    ),
    PlainSerializer(duration_text, when_used="json"),
    Field(gt=timedelta(0)),
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


def _link_speed(value: Any) -> Any:
    """`10G`: bits a second as Kubernetes' bandwidth annotations have them; never a bare number."""
    if isinstance(value, str) and re.fullmatch(SPEED_PATTERN, value):
        return value
    raise ValueError("must be bits a second with a suffix, such as 10G for 10 Gbit/s")


LinkSpeedText = Annotated[
    str,
    BeforeValidator(
        _link_speed, json_schema_input_type=Annotated[str, Field(pattern=SPEED_PATTERN)]
    ),
]


def _only_true(value: Any) -> Any:
    """The number 1 equals `true`, and is something else."""
    if value is not True:
        raise ValueError("must be true")
    return value


Yes = Annotated[Literal[True], BeforeValidator(_only_true)]
"""A field that is a setting by being there."""


class Strict(BaseModel):
    """Common settings: frozen, unknown keys are errors, no silent conversion of types."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False
    )

    def warnings(self) -> Iterator[FieldWarning]:
        """Settings of its own fields that were probably not meant; `check` adds the place."""
        return iter(())

"""How many pods: a number, or a percentage of those that there are."""

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from rescheduler.documents.field_problems import FieldError, respelling_hint
from rescheduler.documents.fields import RATIO_PATTERN


def _amount(value: Any) -> Any:
    """A number of 0 or more, or a percentage, kept as it was written."""
    if isinstance(value, str) and re.fullmatch(RATIO_PATTERN, value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?%", value):
        raise FieldError("must be at most 100%")
    hint = respelling_hint(value, RATIO_PATTERN)
    if isinstance(value, float) and 0 < value < 1:
        hint = f"`{100 * value:.10g}%`"
    elif isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        hint = f"`{int(value)}`, without quotes"
    raise FieldError("must be a whole number, 0 or more, or a percentage such as 10%", hint=hint)


Amount = Annotated[
    int | str,
    BeforeValidator(
        _amount,
        json_schema_input_type=Annotated[int, Field(ge=0)]
        | Annotated[str, Field(pattern=RATIO_PATTERN)],
    ),
]


def pods_of_amount(amount: int | str, pods: int) -> int:
    """How many that are of so many pods; a percentage is rounded down, so that it holds.

    As a Deployment's maxUnavailable is (intstr.GetScaledValueFromIntOrPercent, roundUp false); that
    of a PodDisruptionBudget is rounded up, and allows more than the number.
    """
    if isinstance(amount, int):
        return amount
    return int(Fraction(amount.removesuffix("%")) * pods // 100)

"""Kubernetes quantities, exactly: `500m`, `1Gi`, `2e3`, never a float."""

import re
from decimal import Decimal, DecimalException
from functools import lru_cache

NANO = 1_000_000_000
MOST_COUNTED = 2**53
"""More milli-CPU or bytes than any node has; sums of a thousand such still are int64."""
_MOST = (2**63 - 1) * NANO
"""As much as a quantity can be: apimachinery pkg/api/resource/quantity.go, maxAllowed."""

_SUFFIXES = {
    "n": Decimal(1),
    "u": Decimal(10) ** 3,
    "m": Decimal(10) ** 6,
    "": Decimal(10) ** 9,
    "k": Decimal(10) ** 12,
    "M": Decimal(10) ** 15,
    "G": Decimal(10) ** 18,
    "T": Decimal(10) ** 21,
    "P": Decimal(10) ** 24,
    "E": Decimal(10) ** 27,
    "Ki": Decimal(NANO) * 2**10,
    "Mi": Decimal(NANO) * 2**20,
    "Gi": Decimal(NANO) * 2**30,
    "Ti": Decimal(NANO) * 2**40,
    "Pi": Decimal(NANO) * 2**50,
    "Ei": Decimal(NANO) * 2**60,
}


_NUMBER = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""What Go reads as one; Python would also take `1_000` and the digits of every script."""
_SHOWN = 60


@lru_cache(maxsize=16_384)
def nanos(quantity: str | float) -> int:
    """The quantity in billionths of its unit, rounded up as Kubernetes does below a nano.

    Raises:
        ValueError: the text is not a Kubernetes quantity.
    """
    text = str(quantity).strip()
    digits = text.rstrip("numkKMGTPEi")
    suffix = text[len(digits) :]
    if suffix not in _SUFFIXES or not _NUMBER.fullmatch(digits):
        raise ValueError(f"{_quoted_text(quantity)} is not a Kubernetes quantity")
    try:
        value = Decimal(digits) * _SUFFIXES[suffix]
    except DecimalException as error:
        raise ValueError(f"{_quoted_text(quantity)} is not a Kubernetes quantity") from error
    value = max(min(value, Decimal(_MOST)), Decimal(-_MOST))
    return int(value.to_integral_value(rounding="ROUND_CEILING"))


def _quoted_text(quantity: str | float) -> str:
    """It in quotes, cut where it is longer than any that is meant."""
    text = repr(quantity)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def milli(quantity: str | float) -> int:
    """The quantity in thousandths, rounded up: how kube-scheduler counts CPU."""
    return -(-nanos(quantity) // 1_000_000)


def units(quantity: str | float) -> int:
    """The quantity in whole units, rounded up: how kube-scheduler counts all but CPU."""
    return -(-nanos(quantity) // NANO)


def scheduler_amount(resource: str, quantity: str | float) -> int:
    """The quantity as kube-scheduler counts that resource: milli for `cpu`, else whole units."""
    return min(milli(quantity) if resource == "cpu" else units(quantity), MOST_COUNTED)

"""Label selectors, matched as Kubernetes matches them."""

import re
from collections.abc import Mapping

from rescheduler.kube.objects import LabelSelector, LabelSelectorRequirement

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")


def matches(selector: LabelSelector | None, labels: Mapping[str, str] | None) -> bool:
    """Whether the labels satisfy the selector.

    None matches nothing and an empty selector everything, as metav1.LabelSelectorAsSelector has it.
    """
    if selector is None:
        return False
    present = labels or {}
    for key, value in (selector.matchLabels or {}).items():
        if present.get(key) != value:
            return False
    return all(satisfies(expression, present) for expression in selector.matchExpressions or ())


def satisfies(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy one requirement; an unknown operator never holds.

    `Gt` and `Lt` exist for node selectors only: one integer, compared with the label as int64.
    Source: apimachinery pkg/labels/selector.go, Requirement.Matches.
    """
    value = labels.get(requirement.key)
    values = requirement.values or []
    match requirement.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            if value is None or len(values) != 1:
                return False
            number, threshold = int64(value), int64(values[0])
            if number is None or threshold is None:
                return False
            return number > threshold if requirement.operator == "Gt" else number < threshold
    return False


def int64(text: str) -> int | None:
    """The number as Go's strconv.ParseInt reads it; None where it does not."""
    match = _INTEGER.fullmatch(text)
    number = int(match[1] + match[2]) if match else None
    return number if number is not None and -(2**63) <= number < 2**63 else None

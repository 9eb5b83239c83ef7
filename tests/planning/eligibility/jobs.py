"""Jobs, and how they fail."""

from collections.abc import Callable
from typing import Any

from tests.planning.cases import Case

Change = Callable[[Case], Any]


def job(**spec: Any) -> Change:
    return lambda case: case.own("Job", **spec)


def failure_policy(action: str, on: str = "DisruptionTarget") -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": [{"action": action, "onPodConditions": [{"type": on}]}]}}

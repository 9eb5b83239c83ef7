"""What a running scheduler reports about itself."""

from dataclasses import dataclass, field
from typing import Any

from rescheduler.model.problem import Problem


@dataclass(frozen=True, slots=True)
class ObservedScheduler:
    """The answers of one kube-scheduler process.

    url: where it was read. configuration: what it answered under /configz, as JSON. version: its
    own, as `v1.36.3`. gates: its feature gates by name.
    problem: why there is no answer that can be used; the rest is then empty.
    """

    url: str
    configuration: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    gates: dict[str, bool] = field(default_factory=dict)
    problem: Problem | None = None

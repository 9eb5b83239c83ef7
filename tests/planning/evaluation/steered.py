"""Evaluating moves that may be steered."""

from typing import Any

from rescheduler.policies.limits import Limits
from tests.planning.scenarios import SWIFT

FREE = SWIFT.model_copy(update={"movesPerCycle": 1000, "movesPerWorkload": 1000})


def steered(by: str = "AdmissionPolicy", strength: str = "Prefer", **more: Any) -> Limits:
    steering = {"steering": {"by": by, "strength": strength}}
    return Limits.model_validate(
        {**FREE.model_dump(mode="json", exclude={"kind", "name"}), **steering, **more}
    )

"""Steering, as operators write it in the Limits and in policies."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.model.moves.steering_entry import Strength
from rescheduler.steering.means_registry import MEANS

if TYPE_CHECKING:
    MeansName = str
else:
    MeansName = Literal["None", "Auto", *MEANS]
"""The name of a means; None: replacements go where the scheduler puts them; Auto: what is ready."""
AUTOMATIC = tuple(means.name for means in MEANS.values() if means.automatic)
"""What Auto may be, the first that is ready: means that write nothing but a table of our own."""

_ABOUT = " ".join(f"{means.name}: {means.about}" for means in MEANS.values())
_LIMITED = [means.name for means in MEANS.values() if not means.requires]
_ONLY_PREFER = " ".join(f"{name} can only Prefer." for name in _LIMITED)


class SteeringFields(Strict):
    """Whether replacements are steered, by what, and how strictly."""

    by: MeansName = Field(
        "Auto",
        description=f"None: replacements go where the scheduler puts them. {_ABOUT} "
        f"Each needs its component of deploy/. Auto: the first of {' and '.join(AUTOMATIC)} that "
        "is set up and shows that it steers; otherwise None, and the report says so (STR010). "
        "It steers nothing in a plan from a recorded snapshot.",
    )
    strength: Strength = Field(
        "Prefer",
        description="Prefer: the scheduler gives the chosen nodes more points, and may choose "
        "another one. Require: it must choose one of these nodes, two or more; the better half "
        "has more points. Mostly these are the best node and a second one, in case the first "
        "cannot take it. A replacement that stays Pending beyond its deadline is created again "
        f"without it, once. {_ONLY_PREFER}",
    )

    @property
    def means(self) -> str:
        """The name of what steers; None also for Auto, as long as nothing was chosen for it."""
        return "None" if self.by == "Auto" else self.by

    @model_validator(mode="after")
    def _requires_where_it_can(self) -> "SteeringFields":
        means = MEANS.get(self.by)
        can_require = self.by != "Auto" and (means is None or means.requires)
        if self.strength == "Require" and not can_require:
            raise FieldError(f"{self.by} can only Prefer", hint="`strength: Prefer`")
        return self

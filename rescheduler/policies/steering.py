"""Steering, as operators write it in the Limits and in policies."""

from pydantic import Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.model.steering import Means, Strength


class Steering(Strict):
    """Whether replacements are told where to go, by what, and how strictly."""

    by: Means = Field(
        "None",
        description="None: replacements go where the scheduler puts them. AdmissionPolicy: a "
        "MutatingAdmissionPolicy adds node affinity to them (Kubernetes 1.36 and later, or where "
        "v1beta1 is served). Webhook: `rescheduler webhook` adds it (1.30 and later). Each needs "
        "its component of deploy/. Extender: a scheduler of your own asks `rescheduler extender`, "
        "as that shows; Require only where the scheduler looks at all nodes. SoftTaint: the node "
        "that a replacement leaves, and others where it had better not go, bear a taint "
        "PreferNoSchedule until it is placed; one after the other, and never for a gang.",
    )
    strength: Strength = Field(
        "Prefer",
        description="Prefer: the scheduler gives the chosen nodes more points, and may choose "
        "another one. Require: it has no other choice than two nodes or more; where it would take "
        "one of them that gains far less than the best, the best alone is preferred instead, if "
        "that still gains more times the share of landings that have come as predicted. A "
        "replacement that stays Pending beyond its deadline is made anew without it, once. "
        "SoftTaint can only Prefer.",
    )

    @model_validator(mode="after")
    def _taints_only_prefer(self) -> "Steering":
        if self.by == "SoftTaint" and self.strength == "Require":
            raise FieldError("SoftTaint can only Prefer", hint="`strength: Prefer`")
        return self

"""Steering, as operators write it in the Limits and in policies."""

from pydantic import Field

from rescheduler.documents.fields import Strict
from rescheduler.model.steering import Means, Strength


class Steering(Strict):
    """Whether replacements are told where to go, by what, and how strictly."""

    by: Means = Field(
        "None",
        description="None: replacements go where the scheduler puts them. AdmissionPolicy: a "
        "MutatingAdmissionPolicy adds node affinity to them (Kubernetes 1.36 and later, or where "
        "v1beta1 is served). Webhook: the Deployment adds it (1.30 and later). SoftTaint: the "
        "nodes that they leave, and worse ones, are tainted PreferNoSchedule during a batch. "
        "Extender: a scheduler of your own asks us. Each needs its component of deploy/.",
    )
    strength: Strength = Field(
        "Prefer",
        description="Prefer: the scheduler gives the chosen nodes more points, and may choose "
        "another one. Require: it has no other choice; a replacement that stays Pending beyond its "
        "deadline is made anew without it, once. SoftTaint can only Prefer.",
    )

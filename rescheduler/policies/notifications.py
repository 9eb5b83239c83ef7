"""Notifications: who gets messages outside of the cluster about what cycles do."""

import re
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from rescheduler.documents.envelope import Document
from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import PositiveDuration, Strict
from rescheduler.model.notice import Occasion

ReceiverType = Literal["Webhook", "Slack", "Teams", "Alertmanager"]

_FILE = "[A-Za-z0-9_-][A-Za-z0-9_.-]{0,252}"
_RECEIVER = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


def _check_file(name: str) -> str:
    """A name without a folder, so that who edits policies cannot send any file of the pod away."""
    if not re.fullmatch(_FILE, name):
        raise FieldError(
            "must be the name of a file in the folder of --notification-files, without a path",
            hint="the key of the Secret that is mounted there.",
        )
    return name


FileName = Annotated[
    str,
    AfterValidator(_check_file),
    WithJsonSchema({"type": "string", "pattern": f"^{_FILE}$"}),
]


class Receiver(Strict):
    """One address that gets messages about some occasions."""

    name: str = Field(
        pattern=f"^{_RECEIVER}$", description="What logs and metrics call it; unique."
    )
    type: ReceiverType = Field(
        description="Webhook: any server that takes JSON by POST. Slack: an incoming webhook. "
        "Teams: a Workflow that posts what a webhook gets, as an Adaptive Card. Alertmanager: its "
        "address, without /api/v2/alerts."
    )
    addressFile: FileName = Field(
        description="File with the address, in the folder of `--notification-files`. It is read "
        "again for each message, and never shown."
    )
    tokenFile: FileName | None = Field(
        None, description="File in that folder with a bearer token, where the address needs one."
    )
    caFile: FileName | None = Field(
        None,
        description="File in that folder with the authorities that sign the address's certificate.",
    )
    occasions: list[Occasion] = Field(
        ["PlanAwaitsReview", "MovesMade", "Hold", "Demotion", "IdleOwners"],
        min_length=1,
        description="What it gets messages about. "
        "PlanAwaitsReview: a run in mode Audit found moves. "
        "MovesMade: pods were evicted, or what earlier moves have brought was measured. Hold: "
        "something holds all moves. Demotion: a policy counts as Audit for now. IdleOwners: who "
        "holds GPUs and hardly uses them.",
    )
    perHour: int = Field(
        4,
        ge=1,
        le=60,
        description="Most messages about one occasion in an hour. A message says how many were "
        "left out before it.",
    )
    repeatAfter: PositiveDuration = Field(
        timedelta(hours=24),
        description="A message about what stays as it is, and about idle GPUs, comes again after "
        "this time.",
    )
    timeout: Annotated[PositiveDuration, Field(le=timedelta(seconds=30))] = Field(
        timedelta(seconds=5), description="How long the receiver may take to answer; at most 30s."
    )


class Notifications(Document):
    """Who gets messages outside of the cluster. At most one per set of policies.

    Messages are sent after a cycle by `rescheduler run`; none is waited for while pods are moved.
    What cannot be sent is in the log, and in the metric `rescheduler_notifications_total`.
    The limits are kept in memory: a new process begins afresh, so a CronJob repeats itself.
    """

    codes: ClassVar[tuple[str, ...]] = ("NTF",)

    kind: Literal["Notifications"] = "Notifications"
    name: str = Field("notifications", min_length=1, description="metadata.name")
    receivers: list[Receiver] = Field(
        default_factory=list, description="Who gets messages about what. Empty: nobody."
    )

    @model_validator(mode="after")
    def _check_names(self) -> "Notifications":
        names = [receiver.name for receiver in self.receivers]
        for number, name in enumerate(names):
            if name in names[:number]:
                at = ("receivers", number, "name")
                raise FieldError(f"`{name}` is the name of another receiver too", at)
        return self

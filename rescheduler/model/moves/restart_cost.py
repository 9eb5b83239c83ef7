"""What a move restarts, how long that takes, and who restarts it, as a plan shows it."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc

RESTARTED = "Kueue stops and starts its gang."
"""What has begun once a Workload was stopped."""


class StopRef(msgspec.Struct, frozen=True, kw_only=True):
    """The Workload of Kueue, in the namespace of its pods, that stops and starts a gang."""

    name: Annotated[str, doc("Its name, in the namespace of the pods.")]
    uid: Annotated[str, doc("Its UID.")]


class RestartCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a move starts again, which is a part of its disruption."""

    readySeconds: Annotated[
        float | None, doc("How long a replacement takes to be Ready; null where it is not known.")
    ] = None
    moves: Annotated[
        int, doc("Past moves of the workload whose median it is; 0: what the pod itself took.")
    ] = 0
    workSeconds: Annotated[
        float | None, doc("Work that is lost; null where there is none to lose.")
    ] = None
    checkpoint: Annotated[
        bool, doc("Whether that is the work since its last checkpoint; else since its start.")
    ] = False

"""What a move restarts, how long that takes, and who restarts it, as a plan shows it."""

import msgspec

RESTARTED = "Kueue stops and starts its gang."
"""What has begun once a Workload was stopped."""


class StopRef(msgspec.Struct, frozen=True, kw_only=True):
    """The Workload of Kueue, in the namespace of its pods, that stops and starts a gang."""

    name: str
    uid: str


class RestartCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a move starts again, which is a part of its disruption.

    readySeconds: how long a replacement takes to be Ready, None where it is not known: the median
    of so many past `moves` of the workload, or without any what the pod itself took.
    workSeconds: work that is lost, None where there is none to lose: since the last checkpoint, or
    else since the pod's start.
    """

    readySeconds: float | None = None
    moves: int = 0
    workSeconds: float | None = None
    checkpoint: bool = False

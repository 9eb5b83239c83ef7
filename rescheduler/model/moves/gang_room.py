"""Places for a pending gang: what they are for, and whether there are enough."""

import msgspec


class GangRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A gang of pending pods that needs places for all of them at once.

    gang: its kind or name, as people know it. pods, gpus: how many it requests. before, after:
    whether there is room for all of it without the plan, and with it.
    """

    gang: str
    pods: int
    gpus: float
    before: bool
    after: bool

"""Places for a pending gang: what they are for, and whether there are enough."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc


class GangRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A gang of pending pods that needs places for all of them at once."""

    gang: Annotated[str, doc("Namespace and name of the gang, or of the owner of its pods.")]
    pods: Annotated[int, doc("Its pods that wait.")]
    gpus: Annotated[float, doc("GPUs that they ask for.")]
    before: Annotated[bool, doc("Whether there is room for all of them without the moves.")]
    after: Annotated[bool, doc("Whether there is room for all of them once the moves are made.")]

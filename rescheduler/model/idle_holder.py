"""Owners whose pods hold GPUs and hardly use them."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc


class IdleHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one owner that have GPUs to themselves and hardly use them."""

    namespace: Annotated[str, doc("Namespace of the pods.")]
    owner: Annotated[str, doc("Kind and name of their owner, or of the pod itself.")]
    pods: Annotated[int, doc("How many of its pods hardly use their GPUs.")]
    gpus: Annotated[
        float, doc("GPUs that they have to themselves, a partition (MIG) as a part of one.")
    ]
    use: Annotated[float, doc("The mean share of these that is in use, 0 to 1.")]
    hours: Annotated[float, doc("GPU-hours that were not used in the time that was evaluated.")]

    @property
    def daily(self) -> float:
        """GPU-hours that are not used in a day, if it goes on like this."""
        return 24 * self.gpus * (1 - self.use)

    @property
    def span(self) -> float:
        """Seconds that were evaluated."""
        return 86_400 * self.hours / self.daily if self.daily > 0 else 0.0

"""Owners whose pods hold GPUs and hardly use them."""

import msgspec


class IdleHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one owner that have GPUs to themselves and hardly use them.

    gpus: that they have, a partition (MIG) as a part of one. use: of these, the mean share in use.
    hours: GPU-hours that were not used in the time that was evaluated.
    """

    namespace: str
    owner: str
    pods: int
    gpus: float
    use: float
    hours: float

    @property
    def daily(self) -> float:
        """GPU-hours that are not used in a day, if it goes on like this."""
        return 24 * self.gpus * (1 - self.use)

    @property
    def span(self) -> float:
        """Seconds that were evaluated."""
        return 86_400 * self.hours / self.daily if self.daily > 0 else 0.0

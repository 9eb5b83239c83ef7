"""A gang of pending pods that runs as a whole or not at all."""

from dataclasses import dataclass

from rescheduler.model.wording import count_text


@dataclass(frozen=True, slots=True)
class PendingGang:
    """What it is called, and what all of it asks for. gpus: shares of one counted as such."""

    name: str
    pods: int
    gpus: float

    @property
    def size_text(self) -> str:
        """`its 2 pending pods (16 GPUs)`."""
        gpus = f" ({self.gpus:g} {'GPU' if self.gpus == 1 else 'GPUs'})" if self.gpus else ""
        return f"its {count_text(self.pods, 'pending pod')}{gpus}"

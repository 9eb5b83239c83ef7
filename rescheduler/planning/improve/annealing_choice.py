"""Chooses the annealing that suits a placement."""

from typing import Protocol

from rescheduler.planning.improve.annealing import Annealing, Task
from rescheduler.planning.improve.partners import Partners


class Run(Protocol):
    """One run from a placement, which then is the best that was seen."""

    @property
    def best(self) -> float:
        """What the best costs."""
        ...

    def run(self) -> None:
        """Until the progress is 1."""
        ...


def choose_annealing(task: Task) -> Run:
    """Towards partners where pods have some, any number may move, and the input is in no order."""
    placement = task.placement
    if len(placement.attracted) and not (task.capped or placement.ordered):
        return Partners(task)
    return Annealing(task)

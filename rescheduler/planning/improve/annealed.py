"""Which way a placement is annealed."""

from contextlib import suppress
from importlib.util import find_spec
from typing import ClassVar, Protocol

from rescheduler.planning.improve.annealing import Annealing, Task
from rescheduler.planning.improve.partners import Partners


class Run(Protocol):
    """One run from a placement, which then is the best that was seen."""

    parallel: ClassVar[bool]
    """Whether it leaves the interpreter to others while it runs."""

    @property
    def best(self) -> float:
        """What the best costs."""
        ...

    def run(self) -> None:
        """Until the progress is 1."""
        ...


def annealed(task: Task) -> Run:
    """By compiled loops where Numba is installed and all of the placement is arrays.

    Else by arrays, towards partners where pods have some, any number may move, and the order of the
    input may matter.
    """
    placement = task.placement
    if find_spec("numba") is not None:
        # It takes 60 MiB and half a second, so it is loaded when it is first needed. One that
        # cannot be loaded, or keep what it compiles, is as good as none: plans can do without.
        with suppress(ImportError, OSError):
            from rescheduler.planning.improve.loops.run import Loops  # noqa: PLC0415
            from rescheduler.planning.improve.loops.state import state_of  # noqa: PLC0415

            state = state_of(placement)
            if state is not None:
                loops = Loops(task, state)
                loops.compile()
                return loops
    if len(placement.attracted) and not (task.capped or placement.ordered):
        return Partners(task)
    return Annealing(task)

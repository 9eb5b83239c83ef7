"""Have Numba compile the loops, unless what it kept still holds: python -m <this module>."""

import numpy as np

from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.loops.run import Loops
from rescheduler.planning.improve.loops.state import state_of
from rescheduler.planning.improve.placement import Placement
from rescheduler.planning.improve.rules import Room


def compile_loops() -> None:
    """Anneal one pod on one node."""
    where, one = np.zeros(1, dtype=np.int32), np.ones((1, 1))
    room = Room(one, one, np.zeros(1, dtype=np.bool_), where)
    placement = Placement(where, np.ones(1, dtype=np.bool_), 1, [], [room])
    state = state_of(placement)
    if state is None:
        raise TypeError("a placement with nothing but room has no arrays")
    task = Task(placement, 1, [1.0], np.random.default_rng(1), lambda steps: steps / 1)
    loops = Loops(task, state)
    loops.compile()
    loops.run()


if __name__ == "__main__":
    compile_loops()

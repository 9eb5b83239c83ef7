"""Chains: a pod goes to a node that is full, and one that is there goes on to a third.

Where room is scarce, what would gain is most often full: a single move has no room there, and to
change places the two would have to fit each where the other is (ejection chains).

Source: F. Glover, Ejection chains, reference structures and alternating path methods for traveling
salesman problems, 1996.
"""

from rescheduler.planning.improve.loops import limits
from rescheduler.planning.improve.loops.chance import Chance, below
from rescheduler.planning.improve.loops.jit import compiled
from rescheduler.planning.improve.loops.moves import changed, exchanged
from rescheduler.planning.improve.loops.tables import Drawn, State

_OUTS, _THIRDS = 16, 3
"""How many pods are asked to make room, and how many nodes each may go to: home first where being
away has a price; where it has none, that would draw pods back to where they began."""


@compiled
def begun(  # noqa: PLR0913, PLR0917 - plain arrays and numbers, as the compiler wants them
    chance: Chance,
    state: State,
    drawn: Drawn,
    price: float,
    most_accepted: float,
    pod: int,
    here: int,
    there: int,
) -> tuple[int, float, int]:
    """Make the first chain found that changes the cost, with the price of being away, by no more.

    Who made room, -1 if there is no such chain; what the cost changed, and how many more are away.
    """
    held = drawn.held[there]
    if not held or not limits.permits(state.rules, state.home, pod, here, there):
        return -1, 0.0, 0
    begin = below(chance, held)
    for number in range(min(held, _OUTS)):
        out = drawn.slots[there, (begin + number) % held]
        if not limits.fits(state.rules, pod, there, out):
            continue
        for attempt in range(_THIRDS):
            third = drawn.nodes[below(chance, len(drawn.nodes))]
            if attempt == 0 and price > 0.0:
                third = state.home[out]
            if third == here or third == there:  # noqa: PLR1714, SIM109 - tuples are of one type
                continue
            if not limits.fits(state.rules, out, third, len(state.home)):
                continue
            change, turned = changed(state, pod, here, there, out, third)
            if change + price * turned <= most_accepted and exchanged(
                state, pod, here, there, out, third
            ):
                return out, change, turned
    return -1, 0.0, 0

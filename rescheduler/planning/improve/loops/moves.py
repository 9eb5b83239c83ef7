"""What moves change in all, and making them.

A pod goes there from here; of the pods there another, -1 for nobody, goes to a third node: that may
be here, and they change places.
"""

from rescheduler.planning.improve.loops import limits
from rescheduler.planning.improve.loops.costs import (
    chain_changed,
    hinges_changed,
    move_hinges,
    move_traffic,
    traffic_changed,
)
from rescheduler.planning.improve.loops.jit import compiled
from rescheduler.planning.improve.loops.tables import State


@compiled
def changed(
    state: State, pod: int, here: int, there: int, other: int, third: int
) -> tuple[float, int]:
    """What the cost changes, and how many more pods are away then."""
    home = state.home
    nobody = len(home) if other < 0 else other
    change = 0.0
    if state.of_hinges:
        if other < 0 or third == here:
            found = hinges_changed(state.hinges, pod, here, there, nobody)
        else:
            found = chain_changed(state.hinges, pod, here, there, other, third)
        change += state.of_hinges * found
    if state.of_traffic:
        change += state.of_traffic * _traffic_changed(state, pod, here, there, nobody, third)
    turned = (home[pod] == here) - (home[pod] == there)
    change += turned * state.price[pod]
    if other >= 0:
        its = (home[other] == there) - (home[other] == third)
        change += its * state.price[other]
        turned += its
    return change, turned


@compiled
def _traffic_changed(
    state: State, pod: int, here: int, there: int, other: int, third: int
) -> float:
    tables, nobody = state.traffic, len(state.home)
    if other == nobody or third == here:
        return traffic_changed(tables, pod, here, there, other)
    change = traffic_changed(tables, other, there, third, nobody)
    move_traffic(tables, other, third)
    change += traffic_changed(tables, pod, here, there, nobody)
    move_traffic(tables, other, there)
    return change


@compiled
def exchanged(state: State, pod: int, here: int, there: int, other: int, third: int) -> bool:
    """Make the moves if rules let them be made; whether they were."""
    rules, home = state.rules, state.home
    nobody = len(home) if other < 0 else other
    if not limits.fits(rules, pod, there, nobody):
        return False
    if other >= 0 and not limits.fits(rules, other, third, pod if third == here else len(home)):
        return False
    if not limits.permits(rules, home, pod, here, there):
        return False
    limits.move(rules, home, pod, here, there)
    if other >= 0:
        if not limits.permits(rules, home, other, there, third):
            limits.move(rules, home, pod, there, here)
            return False
        limits.move(rules, home, other, there, third)
        move_costs(state, other, third)
    move_costs(state, pod, there)
    return True


@compiled
def move_costs(state: State, pod: int, there: int) -> None:
    """Move the pod in what costs are counted from."""
    move_hinges(state.hinges, pod, there)
    move_traffic(state.traffic, pod, there)
    state.where[pod] = there

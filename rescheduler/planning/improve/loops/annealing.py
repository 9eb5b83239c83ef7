"""The loop: a pod is drawn, and where it might go; chance and gain decide (Metropolis)."""

import math

from rescheduler.planning.improve.loops import chains, limits
from rescheduler.planning.improve.loops.chance import Chance, below, share
from rescheduler.planning.improve.loops.jit import compiled
from rescheduler.planning.improve.loops.moves import changed, exchanged, move_costs
from rescheduler.planning.improve.loops.tables import Away, Best, Counters, Drawn, State
from rescheduler.policies.shared.tables import TrafficTables

COST, BEST, PRICE, WORTH = 0, 1, 2, 3
AWAY, CHANGED, MADE = 0, 1, 2
"""Places in `Counters`."""
_TO_PARTNERS = 0.8
"""The share of proposals, where pods have traffic, that one of them goes to a node with a partner;
the others make room."""
_AWAY, _OTHER_AWAY = 0.5, 0.3
"""Under a cap: the shares of pods, and of those to change places with, that are drawn from those
away from home."""
_HOME = 0.2
"""How often a pod that is away is asked to go home, of the times it is asked to go to a node: it
may hold room in both places while it is away."""
_SWAPS = 0.5
"""The share of other proposals that two pods change places."""
_PACE, _IDLE_PACE = 0.002, 0.0002
"""How much the price of being away changes with each that goes or comes home, for each pod too many
or too few, up to five; and with any other move."""
_FARTHEST = 1e4
"""How many times more or less than at first being away may cost."""
_NEVER = 40.0
"""What costs so many temperatures more is accepted once in 10^17 times; it need not be drawn."""
_NOTHING = 1e-9


@compiled
def anneal(  # noqa: PLR0913, PLR0917 - plain arrays and numbers, as the compiler wants them
    chance: Chance,
    proposals: int,
    temperature: float,
    most: int,
    state: State,
    away: Away,
    best: Best,
    drawn: Drawn,
    counters: Counters,
) -> bool:
    """Make so many proposals. False: some node has more pods than its slots hold; grow them.

    most: how many pods may be away from home, -1 for any number.
    """
    for _ in range(proposals):
        pod, there, other = _proposal(chance, state, away, drawn, counters, most >= 0)
        here = state.where[pod]
        if there == here:
            continue
        change, turned = changed(state, pod, here, there, other, here)
        change_with_price = change + counters.amounts[PRICE] * turned
        if change_with_price > _NEVER * temperature:
            continue
        most_accepted = -temperature * math.log(1.0 - share(chance))
        if change_with_price > most_accepted:
            continue
        made, out, change, turned = _made(
            chance, state, drawn, counters, most_accepted, pod, here, there, other, change, turned
        )
        if not made:
            continue
        counters.amounts[COST] += change
        counters.numbers[MADE] += 1
        full = _noted(state, away, best, drawn, counters, pod, here)
        full |= _noted(state, away, best, drawn, counters, other, there)
        full |= _noted(state, away, best, drawn, counters, out, there)
        over = counters.numbers[AWAY] - most
        if most >= 0:
            pace = _PACE if turned else _IDLE_PACE
            price = counters.amounts[PRICE] * math.exp(pace * max(-5, min(5, over)))
            worth = counters.amounts[WORTH]
            counters.amounts[PRICE] = max(worth / _FARTHEST, min(worth * _FARTHEST, price))
        if (most < 0 or over <= 0) and counters.amounts[COST] < counters.amounts[BEST] - _NOTHING:
            _keep(state, best, counters)
        if full:
            return False
    return True


@compiled
def _proposal(
    chance: Chance, state: State, away: Away, drawn: Drawn, counters: Counters, capped: bool
) -> tuple[int, int, int]:
    """A pod, a node, and who comes from there instead, -1 for nobody."""
    number = counters.numbers[AWAY] if capped else 0
    if len(drawn.attracted) and share(chance) < _TO_PARTNERS:
        pod = drawn.attracted[below(chance, len(drawn.attracted))]
        if number and share(chance) < _AWAY:
            pod = away.pods[below(chance, number)]
        there = _attracting(chance, state.traffic, drawn, pod)
        return pod, there, _in_the_way(chance, state, drawn, pod, there)
    if number and share(chance) < _AWAY:
        pod = away.pods[below(chance, number)]
    else:
        pod = drawn.pool[below(chance, len(drawn.pool))]
    if len(drawn.attracted):
        there = _any_node(chance, drawn)
        return pod, there, _in_the_way(chance, state, drawn, pod, there)
    if share(chance) >= _SWAPS:
        at_home = state.where[pod] == state.home[pod]
        if not at_home and share(chance) < _HOME:
            return pod, state.home[pod], -1
        return pod, _any_node(chance, drawn), -1
    if number and share(chance) < _OTHER_AWAY:
        other = away.pods[below(chance, number)]
    else:
        other = drawn.movable[below(chance, len(drawn.movable))]
    return pod, state.where[other], other


@compiled
def _any_node(chance: Chance, drawn: Drawn) -> int:
    return int(drawn.nodes[below(chance, len(drawn.nodes))])


@compiled
def _attracting(chance: Chance, traffic: TrafficTables, drawn: Drawn, pod: int) -> int:
    """The node of a pod that it exchanges traffic with: first a pair is drawn, by its amount."""
    group = traffic.group[pod]
    if group < 0:
        return _any_node(chance, drawn)
    begin, end = traffic.begin[group], traffic.begin[group + 1]
    low, high = traffic.up_to[begin], traffic.up_to[end]
    amount = low + share(chance) * (high - low)
    row = begin
    while row < end - 1 and traffic.up_to[row + 1] <= amount:
        row += 1
    side = traffic.sides[traffic.pair[row], 1 - traffic.end[row]]
    first = traffic.first[side]
    found = traffic.where[traffic.partners[first + below(chance, traffic.first[side + 1] - first)]]
    return found if found >= 0 else _any_node(chance, drawn)


@compiled
def _in_the_way(chance: Chance, state: State, drawn: Drawn, pod: int, there: int) -> int:
    """A pod of the node, if this one has no room beside all that are there."""
    if limits.fits(state.rules, pod, there, len(state.home)) or not drawn.held[there]:
        return -1
    return int(drawn.slots[there, below(chance, drawn.held[there])])


@compiled
def _made(  # noqa: PLR0913, PLR0917 - plain arrays and numbers, as the compiler wants them
    chance: Chance,
    state: State,
    drawn: Drawn,
    counters: Counters,
    most_accepted: float,
    pod: int,
    here: int,
    there: int,
    other: int,
    change: float,
    turned: int,
) -> tuple[bool, int, float, int]:
    """Make the moves, or where one alone has no room a chain that begins with it.

    Whether any was made, who made room, -1 for nobody, and what changed by all of it.
    """
    if exchanged(state, pod, here, there, other, here):
        return True, -1, change, turned
    if other >= 0:
        return False, -1, 0.0, 0
    price = counters.amounts[PRICE]
    out, change, turned = chains.begun(chance, state, drawn, price, most_accepted, pod, here, there)
    return out >= 0, out, change, turned


@compiled
def _noted(
    state: State, away: Away, best: Best, drawn: Drawn, counters: Counters, pod: int, here: int
) -> bool:
    """Keep books of the pod that has moved, -1 for none; whether its node's slots are full."""
    if pod < 0:
        return False
    numbers, there = counters.numbers, state.where[pod]
    if not best.is_changed[pod]:
        best.is_changed[pod] = True
        best.changed[numbers[CHANGED]] = pod
        numbers[CHANGED] += 1
    if there != state.home[pod]:
        if away.place[pod] < 0:
            away.place[pod] = numbers[AWAY]
            away.pods[numbers[AWAY]] = pod
            numbers[AWAY] += 1
    elif away.place[pod] >= 0:
        numbers[AWAY] -= 1
        last = away.pods[numbers[AWAY]]
        away.pods[away.place[pod]] = last
        away.place[last] = away.place[pod]
        away.place[pod] = -1
    drawn.held[here] -= 1
    last = drawn.slots[here, drawn.held[here]]
    drawn.slots[here, drawn.place[pod]] = last
    drawn.place[last] = drawn.place[pod]
    drawn.slots[there, drawn.held[there]] = pod
    drawn.place[pod] = drawn.held[there]
    drawn.held[there] += 1
    # A pod that changes places comes before the other has left, so one more may come than is there.
    return bool(drawn.held[there] + 2 > drawn.slots.shape[1])


@compiled
def _keep(state: State, best: Best, counters: Counters) -> None:
    counters.amounts[BEST] = counters.amounts[COST]
    for number in range(counters.numbers[CHANGED]):
        pod = best.changed[number]
        best.where[pod] = state.where[pod]
        best.is_changed[pod] = False
    counters.numbers[CHANGED] = 0


@compiled
def settle(state: State, best: Best, counters: Counters) -> None:
    """Make the placement the best that was seen."""
    for number in range(counters.numbers[CHANGED]):
        pod = best.changed[number]
        here, there = state.where[pod], best.where[pod]
        if here != there:
            limits.move(state.rules, state.home, pod, here, there)
            move_costs(state, pod, there)
        best.is_changed[pod] = False
    counters.numbers[CHANGED] = 0

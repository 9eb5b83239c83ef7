"""What moves change in the sums that kernels keep, pod by pod."""

from rescheduler.planning.improve.loops.jit import compiled
from rescheduler.policies.shared.tables import HingeTables, TrafficTables


@compiled
def hinges_changed(tables: HingeTables, pod: int, here: int, there: int, other: int) -> float:
    """What changes if the pod goes there from here and the other, the last row for nobody, back."""
    parts, over = tables.parts, tables.over
    change = -tables.now[here] - tables.now[there]
    for hinge in range(over.shape[1]):
        part = parts[pod, hinge] - parts[other, hinge]
        change += max(over[there, hinge] + part, 0.0) + max(over[here, hinge] - part, 0.0)
    return float(change)


@compiled
def chain_changed(
    tables: HingeTables, pod: int, here: int, there: int, out: int, third: int
) -> float:
    """The same if the pod goes there from here, and one that is there goes out to a third node."""
    parts, over = tables.parts, tables.over
    change = -tables.now[here] - tables.now[there] - tables.now[third]
    for hinge in range(over.shape[1]):
        part, its = parts[pod, hinge], parts[out, hinge]
        change += max(over[there, hinge] + (part - its), 0.0)
        change += max(over[here, hinge] - part, 0.0) + max(over[third, hinge] + its, 0.0)
    return float(change)


@compiled
def move_hinges(tables: HingeTables, pod: int, there: int) -> None:
    """Move the pod."""
    parts, over = tables.parts, tables.over
    here = tables.where[pod]
    here_costs = there_costs = 0.0
    for hinge in range(over.shape[1]):
        over[here, hinge] -= parts[pod, hinge]
        over[there, hinge] += parts[pod, hinge]
        here_costs += max(over[here, hinge], 0.0)
        there_costs += max(over[there, hinge], 0.0)
    tables.now[here] = here_costs
    tables.now[there] = there_costs
    tables.where[pod] = there


@compiled
def traffic_changed(tables: TrafficTables, pod: int, here: int, there: int, other: int) -> float:
    """The same of traffic. The rows of both pods are walked in step: they may share pairs."""
    pair, end = tables.pair, tables.end
    row, stop = _rows(tables, pod)
    its, its_stop = _rows(tables, other)
    change = 0.0
    while row < stop or its < its_stop:
        if its >= its_stop or (row < stop and pair[row] <= pair[its]):
            number = pair[row]
        else:
            number = pair[its]
        first = second = 0
        while row < stop and pair[row] == number:
            first += 1 - end[row]
            second += end[row]
            row += 1
        while its < its_stop and pair[its] == number:
            first -= 1 - end[its]
            second -= end[its]
            its += 1
        if first or second:
            near = _nearer(tables, number, there, first, second)
            near += _nearer(tables, number, here, -first, -second)
            change -= tables.amounts[number] * near
    return change


@compiled
def _rows(tables: TrafficTables, pod: int) -> tuple[int, int]:
    if pod >= len(tables.group) or tables.group[pod] < 0:
        return 0, 0
    group = tables.group[pod]
    return tables.begin[group], tables.begin[group + 1]


@compiled
def _nearer(tables: TrafficTables, pair: int, node: int, first: int, second: int) -> float:
    """How much more of the pair is near with so many pods more at its ends on the node."""
    side, its = tables.sides[pair, 0], tables.sides[pair, 1]
    share, other_share = tables.shares[pair, 0], tables.shares[pair, 1]
    one, other = tables.counts[node, side], tables.counts[node, its]
    before = min(one * share, other * other_share)
    return float(min((one + first) * share, (other + second) * other_share) - before)


@compiled
def move_traffic(tables: TrafficTables, pod: int, there: int) -> None:
    """Move the pod."""
    here = tables.where[pod]
    group = tables.group[pod]
    if group >= 0:
        for place in range(tables.held_of[group], tables.held_of[group + 1]):
            tables.counts[here, tables.held[place]] -= 1
            tables.counts[there, tables.held[place]] += 1
    tables.where[pod] = there

"""Where rules let pods go, pod by pod."""

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.improve.loops.jit import compiled
from rescheduler.planning.improve.loops.tables import (
    AllottedTables,
    ApartTables,
    BesideTables,
    DomainsTables,
    RoomTables,
    Rules,
)


@compiled
def fits(rules: Rules, pod: int, there: int, other: int) -> bool:
    """Whether the node accepts it, with room once the other, the last row for nobody, has left."""
    if not rules.accepted.masks[rules.accepted.shape[pod], there]:
        return False
    return _has_room(rules.room, pod, there, other) and _is_apart(rules.apart, pod, there, other)


@compiled
def _has_room(room: RoomTables, pod: int, there: int, other: int) -> bool:
    back = room.home[pod] == there
    for resource in range(room.free.shape[1]):
        asked = room.kept[pod, resource] if back else room.demands[pod, resource]
        if asked > room.free[there, resource] + room.taken[other, resource]:
            return False
    return True


@compiled
def _is_apart(apart: ApartTables, pod: int, there: int, other: int) -> bool:
    group = apart.group[pod]
    if group == 0:
        return True
    left = 1 if other < len(apart.group) and apart.group[other] == group else 0
    return bool(apart.counts[group, there] == left)


@compiled
def permits(rules: Rules, home: IntArray, pod: int, here: int, there: int) -> bool:
    """Whether rules that reach beyond nodes let it go, as all others are now."""
    return (
        _leaves_enough(rules.least, pod, here, there)
        and _stays_beside(rules.beside, pod, here, there)
        and _is_allotted(rules.allotted, home, pod, here, there)
    )


@compiled
def _leaves_enough(least: DomainsTables, pod: int, here: int, there: int) -> bool:
    group = least.group[pod]
    left, reached = least.domain[here], least.domain[there]
    if group == 0 or left == reached:
        return True
    if least.counts[group, left] > 1 or least.domains[group] > least.least[group]:
        return True
    return bool(least.counts[group, reached] == 0)


@compiled
def _stays_beside(beside: BesideTables, pod: int, here: int, there: int) -> bool:
    group = beside.group[pod]
    left, reached = beside.domain[here], beside.domain[there]
    if left == reached:
        return True
    if beside.missing[group, reached] != 0:
        return False
    return not (beside.counts[group, left] == 1 and beside.wanting[group, left] > 0)


@compiled
def _is_allotted(allotted: AllottedTables, home: IntArray, pod: int, here: int, there: int) -> bool:
    if home[pod] != here or home[pod] == there:
        return True
    for rule in range(len(allotted.share)):
        if allotted.left[rule, allotted.share[rule, pod]] <= 0:
            return False
    return True


@compiled
def move(rules: Rules, home: IntArray, pod: int, here: int, there: int) -> None:
    """Move the pod."""
    _move_room(rules.room, pod, here, there)
    apart = rules.apart
    if apart.group[pod] > 0:
        apart.counts[apart.group[pod], here] -= 1
        apart.counts[apart.group[pod], there] += 1
        apart.where[pod] = there
    _move_domains(rules.least, pod, here, there)
    _move_beside(rules.beside, pod, here, there)
    going = (1 if home[pod] == here else 0) - (1 if home[pod] == there else 0)
    if going:
        allotted = rules.allotted
        for rule in range(len(allotted.share)):
            allotted.left[rule, allotted.share[rule, pod]] -= going


@compiled
def _move_room(room: RoomTables, pod: int, here: int, there: int) -> None:
    back = room.home[pod] == there
    for resource in range(room.free.shape[1]):
        asked = room.kept[pod, resource] if back else room.demands[pod, resource]
        room.free[here, resource] += room.taken[pod, resource]
        room.free[there, resource] -= asked
        room.taken[pod, resource] = asked
    room.where[pod] = there


@compiled
def _move_domains(least: DomainsTables, pod: int, here: int, there: int) -> None:
    group = least.group[pod]
    if group == 0:
        return
    least.where[pod] = there
    left, reached = least.domain[here], least.domain[there]
    if left == reached:
        return
    least.counts[group, left] -= 1
    if least.counts[group, left] == 0:
        least.domains[group] -= 1
    if least.counts[group, reached] == 0:
        least.domains[group] += 1
    least.counts[group, reached] += 1


@compiled
def _move_beside(beside: BesideTables, pod: int, here: int, there: int) -> None:
    beside.where[pod] = there
    left, reached = beside.domain[here], beside.domain[there]
    if left != reached:
        _count(beside, beside.group[pod], left, -1)
        _count(beside, beside.group[pod], reached, 1)


@compiled
def _count(beside: BesideTables, group: int, domain: int, sign: int) -> None:
    before = beside.counts[group, domain]
    beside.counts[group, domain] = before + sign
    if (before > 0) == (before + sign > 0):
        return
    for place in range(beside.needed_by_of[group], beside.needed_by_of[group + 1]):
        beside.missing[beside.needed_by[place], domain] -= sign
    for place in range(beside.needs_of[group], beside.needs_of[group + 1]):
        beside.wanting[beside.needs[place], domain] += sign

"""What an assignment of the ROADEF/EURO 2012 challenge costs, and whether it is allowed.

After the problem definition of the challenge (Google machine reassignment, 2011), from the files
alone: python -m tests.bench.checkers.roadef MODEL ASSIGNMENT NEW
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.packed import text_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """cost: the challenge's objective. moves: processes that changed their machine.

    violations: each broken rule in words, none if the assignment is allowed.
    """

    cost: int
    moves: int
    violations: tuple[str, ...]


@dataclass(slots=True)
class _Machine:
    neighborhood: int
    location: int
    capacity: list[int]
    safety: list[int]
    moving: list[int]


@dataclass(slots=True)
class _Model:
    resources: list[tuple[int, int]]
    machines: list[_Machine]
    services: list[tuple[int, list[int]]]
    processes: list[tuple[int, list[int], int]]
    balances: list[tuple[int, int, int, int]]
    weights: tuple[int, int, int]


def judge(model: Path, before: Path, after: Path) -> Verdict:
    """The verdict on `after`, a new assignment of what `before` has assigned."""
    read = _model(_numbers(model))
    old, new = list(_numbers(before)), list(_numbers(after))
    count = len(read.processes)
    if len(old) != count or len(new) != count:
        sizes = f"{len(old)} and {len(new)} assigned"
        return Verdict(-1, -1, (f"{count} processes, but {sizes}",))
    if not all(0 <= machine < len(read.machines) for machine in new):
        return Verdict(-1, -1, ("a machine that there is not",))
    moves = sum(one != other for one, other in zip(old, new, strict=True))
    return Verdict(_cost(read, old, new), moves, tuple(_violations(read, old, new)))


def _numbers(path: Path) -> Iterator[int]:
    return map(int, text_of(path).split())


def _model(numbers: Iterator[int]) -> _Model:
    def take() -> int:
        return next(numbers)

    def many(count: int) -> list[int]:
        return [next(numbers) for _ in range(count)]

    kinds = take()
    resources = [(take(), take()) for _ in range(kinds)]
    size = take()
    machines = [_Machine(take(), take(), many(kinds), many(kinds), many(size)) for _ in range(size)]
    services = [(take(), many(take())) for _ in range(take())]
    processes = [(take(), many(kinds), take()) for _ in range(take())]
    balances = []
    for _ in range(take()):
        one, other, target, weight = many(4)
        balances.append((one, other, target, weight))
    return _Model(resources, machines, services, processes, balances, (take(), take(), take()))


def _used(model: _Model, assigned: list[int]) -> list[list[int]]:
    used = [[0] * len(model.resources) for _ in model.machines]
    for (_, needs, _), machine in zip(model.processes, assigned, strict=True):
        row = used[machine]
        for resource, need in enumerate(needs):
            row[resource] += need
    return used


def _cost(model: _Model, old: list[int], new: list[int]) -> int:
    cost = 0
    for machine, row in zip(model.machines, _used(model, new), strict=True):
        for (_, weight), used, safe in zip(model.resources, row, machine.safety, strict=True):
            cost += weight * max(0, used - safe)
        left = [have - used for have, used in zip(machine.capacity, row, strict=True)]
        for one, other, target, weight in model.balances:
            cost += weight * max(0, target * left[one] - left[other])
    for_process, for_service, for_machine = model.weights
    moved: Counter[int] = Counter()
    for (service, _, price), source, target in zip(model.processes, old, new, strict=True):
        if source != target:
            moved[service] += 1
            cost += for_process * price
        cost += for_machine * model.machines[source].moving[target]
    return cost + for_service * max(moved.values(), default=0)


def _violations(model: _Model, old: list[int], new: list[int]) -> Iterator[str]:
    yield from _overfull(model, old, new)
    together = Counter(
        (service, target) for (service, _, _), target in zip(model.processes, new, strict=True)
    )
    locations, places = defaultdict(set), defaultdict(set)
    for (service, target), count in together.items():
        locations[service].add(model.machines[target].location)
        places[service].add(model.machines[target].neighborhood)
        if count > 1:
            yield f"machine {target} has {count} processes of service {service}"
    for service, (least, needed) in enumerate(model.services):
        if service in locations and len(locations[service]) < least:
            yield f"service {service} is in {len(locations[service])} locations of {least}"
        for other in needed:
            if missing := places[service] - places[other]:
                yield f"service {service} without {other} in neighborhoods {sorted(missing)}"


def _overfull(model: _Model, old: list[int], new: list[int]) -> Iterator[str]:
    """A process that moves holds its transient resources on both machines."""
    held = _used(model, new)
    for (_, needs, _), source, target in zip(model.processes, old, new, strict=True):
        if source != target:
            for resource, (transient, _) in enumerate(model.resources):
                held[source][resource] += needs[resource] if transient else 0
    for number, machine in enumerate(model.machines):
        for resource, have in enumerate(machine.capacity):
            if held[number][resource] > have:
                yield f"machine {number} has {have} of {resource}, and {held[number][resource]}"


if __name__ == "__main__":
    verdict = judge(*map(Path, sys.argv[1:4]))
    sys.stdout.write(
        json.dumps(
            {
                "cost": verdict.cost,
                "moves": verdict.moves,
                "violations": list(verdict.violations[:10]),
            }
        )
        + "\n"
    )
    raise SystemExit(bool(verdict.violations))

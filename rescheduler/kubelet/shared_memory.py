"""Which NUMA zones pods use together for memory: what no exporter tells, from what is in use.

Kubelet keeps zones that one container has alone apart from zones that some have together
(pkg/kubelet/cm/memorymanager/policy_static.go, calculateHints). Zones are together
where a container needed several: because no single zone could ever hold its memory, or because
another resource of it lay in several.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rescheduler.kubelet.managers import MemoryZones
from rescheduler.kubelet.pod_admission import Managers
from rescheduler.kubelet.pod_wants import PodWants

_MOST_TRIES = 5_000
"""Ways to assign containers to zones; with as many, none is certain."""
_MOST_FOUND = 8
_MOST_PARTITIONS = 800

_Sizes = Mapping[str, int]
_Container = tuple[_Sizes, int, int]
"""What it holds, and of how few and how many zones."""
_Lasting = tuple[_Sizes, int, bool]
"""What it holds, of how few zones it could be, and whether it may be of more all the same."""
_State = tuple[list[int], dict[str, list[int]]]


def cells_of(state: Managers, pods: Sequence[PodWants]) -> list[_State]:
    """(by zone, the mask of the zones it is used with; what is free) in every state there may be.

    States in which containers lie apart or together for no reason that is seen count only where
    no others agree with what the zones report. Where none does, each zone counts as used alone.
    """
    memory = state.memory
    if memory is None:
        return []
    lasting = _lasting_containers(state, memory, pods)
    strict = state.policy in ("restricted", "single-numa-node")
    if strict and all(least == 1 for _, least, _ in lasting):
        return [(_alone(memory), memory.free)]
    for widened in (_as_it_must, _join_containers, _part_containers):
        containers = widened(lasting, state.zones)
        states = list(islice(_states(memory, containers), _MOST_FOUND))
        if states:
            return states
        if strict:
            break
    return [(_alone(memory), memory.free)]


def _as_it_must(lasting: list[_Lasting], _zones: int) -> list[_Container]:
    """Each container in as few zones as could ever hold it."""
    return [(wanted, least, least) for wanted, least, _ in lasting]


def _join_containers(lasting: list[_Lasting], zones: int) -> list[_Container]:
    """Once zones are used together, what would fit into one of them joins."""
    together = any(least > 1 for _, least, _ in lasting)
    return [(wanted, least, zones if together else least) for wanted, least, _ in lasting]


def _part_containers(lasting: list[_Lasting], zones: int) -> list[_Container]:
    """CPUs or devices that lie in several zones take the memory of their container with them."""
    together = any(least > 1 or may_part for _, least, may_part in lasting)
    return [(wanted, least, zones if together else least) for wanted, least, _ in lasting]


def _alone(memory: MemoryZones) -> list[int]:
    used = [_used_amounts(memory, name) for name in memory.total]
    return [
        1 << zone if any(amounts) else 0 for zone, amounts in enumerate(zip(*used, strict=True))
    ]


def _states(memory: MemoryZones, containers: list[_Container]) -> Iterator[_State]:
    sizes = {size for _, narrowest, widest in containers for size in range(narrowest, widest + 1)}
    alone = _alone(memory)
    partitions = _partitions(list(range(len(memory.cells))), sizes | {1})
    for blocks in islice(partitions, _MOST_PARTITIONS):
        free = _free_after_dealing(memory, blocks, containers)
        if free is None:
            continue
        cells = list(alone)
        for block in blocks:
            if len(block) > 1:
                for zone in block:
                    cells[zone] = sum(1 << member for member in block)
        yield cells, free


def _lasting_containers(
    state: Managers, memory: MemoryZones, pods: Sequence[PodWants]
) -> list[_Lasting]:
    """Each lasting container, the largest first."""
    answer: list[_Lasting] = []
    for pod in pods:
        by_pod = state.scope == "pod" and state.policy != "none"
        least_of_pod = _fewest_zones(memory, pod.whole.memory) if by_pod else 0
        answer += [
            (
                step.wants.memory,
                least_of_pod or _fewest_zones(memory, step.wants.memory),
                _may_part(pod),
            )
            for step in pod.steps
            if step.wants.memory and not step.ends
        ]
    answer.sort(key=lambda container: -container[0].get("memory", 0))
    return answer


def _may_part(pod: PodWants) -> bool:
    return any(
        step.wants.cpus > 1 or any(count > 1 for count in step.wants.devices.values())
        for step in pod.steps
    )


def _fewest_zones(memory: MemoryZones, wanted: _Sizes) -> int:
    """How few zones could hold it if nothing were in use."""
    hints = MemoryZones(memory.total, memory.total, [0] * len(memory.cells)).hints(wanted)
    return min(map(int.bit_count, hints), default=1)


def _used_amounts(memory: MemoryZones, name: str) -> list[int]:
    return [total - free for total, free in zip(memory.total[name], memory.free[name], strict=True)]


def _partitions(zones: list[int], sizes: set[int]) -> Iterator[list[list[int]]]:
    """Every way to split the zones into blocks of these sizes; single zones first."""
    if not zones:
        yield []
        return
    first, rest = zones[0], zones[1:]
    for size in sorted(sizes):
        if size > len(zones):
            break
        for others in _combinations(rest, size - 1):
            other_zones = [zone for zone in rest if zone not in others]
            for more in _partitions(other_zones, sizes):
                yield [[first, *others], *more]


def _combinations(zones: list[int], count: int) -> Iterator[list[int]]:
    if count == 0:
        yield []
        return
    for number, zone in enumerate(zones):
        for more in _combinations(zones[number + 1 :], count - 1):
            yield [zone, *more]


def _free_after_dealing(
    memory: MemoryZones, blocks: list[list[int]], containers: list[_Container]
) -> dict[str, list[int]] | None:
    """What is free if the containers lie in these blocks, None where they cannot."""
    dealing = _Dealing(memory, blocks, containers)
    if not dealing.deal(0):
        return None
    free = {name: list(amounts) for name, amounts in memory.free.items()}
    if dealing.tries > _MOST_TRIES:
        return free
    for block, zones in enumerate(blocks):
        for column, name in enumerate(dealing.names if len(zones) > 1 else ()):
            load = dealing.loads[block][column]
            for zone in zones:
                taken = min(load, memory.total[name][zone])
                free[name][zone] = memory.total[name][zone] - taken
                load -= taken
    return free


class _Dealing:
    """Containers dealt out to blocks of zones until the sums are what the zones report.

    Of zones that are used together an exporter reports the sum, dealt out from the lowest on, or
    the whole of it for each of them.
    """

    def __init__(
        self, memory: MemoryZones, blocks: list[list[int]], containers: list[_Container]
    ) -> None:
        self.names = sorted(memory.total)
        self.loads = [[0] * len(self.names) for _ in blocks]
        self.tries = 0
        self._blocks, self._containers = blocks, containers
        self._counts = [0] * len(blocks)
        used = {name: _used_amounts(memory, name) for name in self.names}
        self._used = [[[used[name][z] for z in zones] for name in self.names] for zones in blocks]
        self._total = [
            [[memory.total[name][z] for z in zones] for name in self.names] for zones in blocks
        ]

    def deal(self, number: int) -> bool:
        """Deal out the containers from this one on, or say that it cannot be done."""
        self.tries += 1
        if self.tries > _MOST_TRIES:
            return True
        if number == len(self._containers):
            return all(self._is_whole(block) for block in range(len(self._blocks)))
        wanted, narrowest, widest = self._containers[number]
        for block, zones in enumerate(self._blocks):
            if not narrowest <= len(zones) <= widest:
                continue
            self._put(block, wanted, 1)
            if self._may_grow(block) and self.deal(number + 1):
                return True
            self._put(block, wanted, -1)
        return False

    def _put(self, block: int, wanted: _Sizes, sign: int) -> None:
        self._counts[block] += sign
        for column, name in enumerate(self.names):
            self.loads[block][column] += sign * wanted.get(name, 0)

    def _may_grow(self, block: int) -> bool:
        """Whether no more lies there than is reported."""
        return all(
            load <= sum(used)
            or (
                len(used) > 1
                and load <= sum(total)
                and all(mine >= min(load, most) for mine, most in zip(used, total, strict=True))
            )
            for load, used, total in zip(
                self.loads[block], self._used[block], self._total[block], strict=True
            )
        )

    def _is_whole(self, block: int) -> bool:
        """Whether as much lies there as is reported; zones are together only for somebody."""
        return all(
            load == sum(used) or (len(used) > 1 and used == [min(load, most) for most in total])
            for load, used, total in zip(
                self.loads[block], self._used[block], self._total[block], strict=True
            )
        ) and (len(self._blocks[block]) == 1 or self._counts[block] > 0)

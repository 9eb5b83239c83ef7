"""What the managers of one kubelet may hold, by its NodeResourceTopology, its node and its pods.

Exporters tell of each zone what may be given and what is left. They do not tell: what ended init
containers still hold (kubelet's PodResources API leaves them out), in which zone a device is out
of order, and which zones pods use together. Where that follows from the pods it is used; where it
does not, every possibility counts.
Sources: pkg/kubelet/apis/podresources/server_v1.go; node-feature-discovery
pkg/resourcemonitor; resource-topology-exporter pkg/resourcemonitor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice, product

from rescheduler.kube.nodes.node_resource_topology import (
    NUMA_NODE,
    NodeResourceTopology,
    Zone,
    zone_order,
)
from rescheduler.kube.nodes.resource_names import HUGE_PAGES, is_extended
from rescheduler.kube.objects import Node
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.kubelet.managers import MOST_ZONES, MemoryZones, Pool
from rescheduler.kubelet.pod_admission import Managers
from rescheduler.kubelet.pod_wants import PodWants
from rescheduler.kubelet.shared_memory import cells_of

POLICIES = frozenset({"none", "best-effort", "restricted", "single-numa-node"})
SCOPES = frozenset({"container", "pod"})
_MOST_STATES = 64
_MOST_PLACES = 4096
_TOO_MANY = "what its ended init containers hold may lie in too many ways"


class UnknownStateError(ValueError):
    """What the objects tell of a kubelet does not fit together; the message says why."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A pod on the node. settled: whether its init containers have ended."""

    wants: PodWants
    settled: bool


def possible(
    topology: NodeResourceTopology, node: Node, residents: Sequence[Resident]
) -> list[Managers]:
    """Every state that the kubelet may be in, by what the objects say.

    Raises:
        UnknownStateError: its policy, its zones or what is in use are not known, or odd.
    """
    policy, scope = topology.kubelet
    if policy not in POLICIES or scope not in SCOPES:
        raise UnknownStateError(
            f"kubelet's policy {policy or 'unknown'!r} is not one that we model"
        )
    zones = sorted(
        (zone for zone in topology.zones or () if zone.type == NUMA_NODE), key=zone_order
    )
    if not zones:
        raise UnknownStateError("it has 0 NUMA zones")
    try:
        report = _ZoneReport(zones)
        report.fill_cpus(_count(node.status.capacity, "cpu"))
    except ValueError as error:
        raise UnknownStateError(str(error)) from error
    managers = report.managers(policy, scope)
    managers.dead = frozenset(
        name
        for name in node.status.capacity or ()
        if is_extended(name) and _count_broken(node, name) == _count(node.status.capacity, name) > 0
    )
    # With more CPUs held than there must be a pod may be refused, or get others and be admitted.
    hidden = [
        _hidden_holdings(report, managers, residents, node, most=most) for most in (False, True)
    ]
    states: Iterator[Managers] = iter([managers])
    states = (manager for state in states for manager in _with_broken(state, node))
    hidden = hidden[:1] if hidden[0] == hidden[1] else hidden
    states = (manager for state in states for one in hidden for manager in _with_hidden(state, one))
    states = (cell for state in states for cell in _with_cells(state, residents))
    answer = list(islice(states, _MOST_STATES + 1))
    if len(answer) > _MOST_STATES:
        raise UnknownStateError(_TOO_MANY)
    return answer


class _ZoneReport:
    """The amounts of the zones: resource to amounts by zone."""

    def __init__(self, zones: Sequence[Zone]) -> None:
        self.count = len(zones)
        self.capacity: dict[str, list[int]] = {}
        self.allocatable: dict[str, list[int]] = {}
        self.available: dict[str, list[int]] = {}
        self.listed: dict[str, set[int]] = {}
        for number, zone in enumerate(zones):
            for one in zone.resources or ():
                # Where an exporter reports no allocatable amounts it is capacity for both.
                most = _units(one.allocatable or one.capacity)
                for table, amount in (
                    (self.capacity, max(_units(one.capacity), most)),
                    (self.allocatable, most),
                    (self.available, min(_units(one.available), most)),
                ):
                    table.setdefault(one.name, [0] * self.count)[number] = amount
                self.listed.setdefault(one.name, set()).add(number)

    def fill_cpus(self, all_cpus: int) -> None:
        """A zone whose CPUs are all reserved is not listed with any: the node has the rest."""
        if "cpu" not in self.capacity:
            return
        silent = [zone for zone in range(self.count) if zone not in self.listed["cpu"]]
        missing = all_cpus - sum(self.capacity["cpu"])
        if silent and missing > 0:
            for zone in silent:
                self.capacity["cpu"][zone] = -(-missing // len(silent))

    def used_amount(self, name: str) -> int:
        """How much of a resource its zones report in use."""
        return sum(self.allocatable.get(name, ())) - sum(self.available.get(name, ()))

    def managers(self, policy: str, scope: str) -> Managers:
        """The state, as if nothing were hidden."""
        pinned = {
            name
            for name, amounts in self.allocatable.items()
            if name == "memory" or name.startswith(HUGE_PAGES)
        }
        cpus = None
        if any(self.allocatable.get("cpu", ())):
            cpus = Pool(list(self.capacity["cpu"]), list(self.available["cpu"]))
        memory = None
        if any(self.allocatable.get("memory", ())):
            memory = MemoryZones(
                {name: list(self.allocatable[name]) for name in pinned},
                {name: list(self.available[name]) for name in pinned},
                [0] * self.count,
            )
        devices = {
            name: Pool(list(amounts), list(self.available[name]))
            for name, amounts in self.allocatable.items()
            if name != "cpu" and name not in pinned
        }
        if max(sum(map(bool, cpus.total)) if cpus else 0, self.count if memory else 0) > MOST_ZONES:
            raise UnknownStateError(f"it has more than {MOST_ZONES} NUMA zones of CPUs or memory")
        return Managers(self.count, policy, scope, cpus, memory, devices)


@dataclass(frozen=True, slots=True)
class _Hidden:
    """What a pod holds and the zones do not tell, by resource.

    beside: those that its lasting containers hold in the same zone, too: kubelet gives them the
    zones of what an init container left, unless its policy spreads them.
    """

    amounts: dict[str, int]
    beside: frozenset[str] = frozenset()


def _hidden_holdings(
    report: _ZoneReport,
    managers: Managers,
    residents: Sequence[Resident],
    node: Node,
    *,
    most: bool,
) -> list[_Hidden]:
    """What pods hold and the zones do not tell: beyond what lasting containers do, or all of it.

    most: whether they hold as many CPUs as they may, not as few.

    Raises:
        UnknownStateError: the zones tell of another use than the pods ask for.
    """
    counted = {
        name
        for name, pool in managers.devices.items()
        if _is_fully_reported(name, pool, residents, node)
    }
    strict = managers.policy in ("restricted", "single-numa-node")
    answer = []
    for resident in residents:
        held, lasting = resident.wants.held, resident.wants.lasting
        share = {
            name: count - lasting.devices.get(name, 0)
            for name, count in held.devices.items()
            if name in managers.devices.keys() - counted
        }
        if managers.cpus:
            zone = max(managers.cpus.total)
            apart = not strict and any(step.wants.cpus > zone for step in resident.wants.steps)
            highest = resident.wants.most_cpus if apart else resident.wants.odd_cpus
            share["cpu"] = (highest if most else held.cpus) - lasting.cpus
        if managers.memory and not resident.settled:
            share |= {n: size - lasting.memory.get(n, 0) for n, size in held.memory.items()}
        kept = {name for name, count in lasting.devices.items() if count}
        kept |= {"cpu"} if lasting.cpus else set()
        answer.append(_Hidden(share, frozenset(kept if strict else ())))
    # CPUs and memory of pods that the zones do not tell of yet, or whose exporter counts them not.
    answer += [
        _Hidden({name: n}) for name, n in _unreported_amounts(report, managers, residents).items()
    ]
    shares = [
        _Hidden({name: n for name, n in hidden_share.amounts.items() if n > 0}, hidden_share.beside)
        for hidden_share in answer
    ]
    return [hidden_share for hidden_share in shares if hidden_share.amounts]


def _unreported_amounts(
    report: _ZoneReport, managers: Managers, residents: Sequence[Resident]
) -> dict[str, int]:
    """Resource to what lasting containers hold beyond what the zones report in use."""
    answer = {}
    if managers.cpus:
        lasting = sum(resident.wants.lasting.cpus for resident in residents)
        answer["cpu"] = lasting - report.used_amount("cpu")
    for name in managers.memory.total if managers.memory else ():
        lasting = sum(resident.wants.lasting.memory.get(name, 0) for resident in residents)
        answer[name] = lasting - report.used_amount(name)
    return answer


def _is_fully_reported(name: str, pool: Pool, residents: Sequence[Resident], node: Node) -> bool:
    """Whether the zones count all that is held of a device; ended init containers' mostly is not.

    Raises:
        UnknownStateError: they tell of another use than the pods ask for.
    """
    used = sum(pool.total) - sum(pool.free)
    lasting = sum(resident.wants.lasting.devices.get(name, 0) for resident in residents)
    held = sum(resident.wants.held.devices.get(name, 0) for resident in residents)
    # Devices that broke while a pod held them are no longer listed.
    if not lasting - _count_broken(node, name) <= used <= held:
        raise UnknownStateError(
            f"its zones report {used} {name} in use, and its pods ask for {held}"
        )
    return used == held


def _with_hidden(state: Managers, hidden: Sequence[_Hidden]) -> Iterator[Managers]:
    """The states with each pod's hidden share in one zone, or everywhere where none can have it."""
    if not hidden:
        yield state
        return
    choices = [
        [zone for zone in range(state.zones) if _may_lie(state, hidden_share, zone)] or [-1]
        for hidden_share in hidden
    ]
    seen = set()
    for number, placed in enumerate(product(*choices)):
        if number == _MOST_PLACES:
            raise UnknownStateError(_TOO_MANY)
        key = tuple(
            sorted(
                (zone, *hidden_share.amounts.items())
                for zone, hidden_share in zip(placed, hidden, strict=True)
            )
        )
        if key in seen:
            continue
        seen.add(key)
        after = state.copy()
        for zone, share in zip(placed, hidden, strict=True):
            for name, amount in share.amounts.items():
                free = _free(after, name)
                for here in [zone] if zone >= 0 else range(after.zones):
                    free[here] = max(free[here] - amount, 0)
        yield after


def _may_lie(state: Managers, share: _Hidden, zone: int) -> bool:
    """Whether the zone has room for it, and something in use beside it where that must be."""
    return all(
        _free(state, name)[zone] >= amount
        and (name not in share.beside or _total(state, name)[zone] > _free(state, name)[zone])
        for name, amount in share.amounts.items()
    )


def _with_broken(state: Managers, node: Node) -> Iterator[Managers]:
    """The states in which the devices that are out of order lie in these zones or those."""
    broken = {name: _count_broken(node, name) for name in state.devices}
    options = [
        [(name, places) for places in _places(_zones_with_devices(pool), broken[name])]
        for name, pool in state.devices.items()
        if broken[name] and any(pool.total)
    ]
    for chosen in product(*options):
        after = state.copy()
        for name, places in chosen:
            for zone in places:
                after.devices[name].total[zone] += 1
        yield after


def _places(zones: list[int], count: int) -> list[tuple[int, ...]]:
    """In which zones they may lie: in any, or, of many, all in one."""
    if count < 4:
        return list(combinations_with_replacement(zones, count))
    return [(zone,) * count for zone in zones]


def _with_cells(state: Managers, residents: Sequence[Resident]) -> Iterator[Managers]:
    """The states in which these zones or those are used together."""
    if state.memory is None:
        yield state
        return
    for cells, free in cells_of(state, [resident.wants for resident in residents]):
        after = state.copy()
        after.memory = MemoryZones(state.memory.total, free, cells)
        yield after


def _free(state: Managers, name: str) -> list[int]:
    if name == "cpu":
        return state.cpus.free if state.cpus else [0] * state.zones
    if state.memory and name in state.memory.free:
        return state.memory.free[name]
    return state.devices[name].free if name in state.devices else [0] * state.zones


def _total(state: Managers, name: str) -> list[int]:
    pool = state.cpus if name == "cpu" else state.devices.get(name)
    return pool.total if pool else [0] * state.zones


def _zones_with_devices(pool: Pool) -> list[int]:
    return [zone for zone, amount in enumerate(pool.total) if amount]


def _count_broken(node: Node, name: str) -> int:
    """Devices that the node has and cannot give: kubelet's Node.status tells both."""
    return max(_count(node.status.capacity, name) - _count(node.status.allocatable, name), 0)


def _count(resources: dict[str, str | int | float] | None, name: str) -> int:
    return _units((resources or {}).get(name, 0))


def _units(quantity: str | float) -> int:
    return nanos(quantity) // NANO

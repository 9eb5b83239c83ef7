"""The NUMA zones on which the devices of each pod lie, and would lie on other nodes."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from rescheduler.kube.dra.class_resources import extended_names, served_by_class
from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_needs import DeviceNeeds, Needs
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.numa.device_choice import DeviceChoice, Wanted, narrow_to_node, wanted_of
from rescheduler.policies.numa.device_zones import DeviceZones
from rescheduler.policies.numa.zone_use import ZoneFit


class DeviceUse:
    """Charges pods whose devices lie on more NUMA zones than needed, in a working copy.

    A pod's charge is (zones its devices lie on - fewest) / (zones of the node's devices - fewest),
    0 to 1: fewest is what an empty node would need. Where it is now, its allocated claims name its
    devices. On another node it is charged for the allocator's first choice if that is certain, else
    for the widest choice that there is; without free devices it is charged 1. A request that is not
    modeled is charged by the fewest zones that hold as many devices of the same drivers, and gains
    nothing. Where the zone of a suitable device is not known, the charge stays what it is now: what
    is not known gains nothing.

    selected: (nodes,) where charges are evaluated. counted: (pods,) whose charges count. users:
    (pods,) which take devices. unmodeled: pods whose devices lie on several zones, and why other
    nodes cannot be evaluated for them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        zones: DeviceZones,
        selected: BoolArray,
        counted: BoolArray,
    ) -> None:
        inventory = zones.inventory
        self.zones = zones
        self._held = DeviceHoldings(snapshot.resource_claims, snapshot.pod_index, inventory)
        self._free: BoolArray = self._held.claims == 0
        self.home = snapshot.pod_node
        self.node = snapshot.pod_node.copy()
        self._selected = selected
        self._wanted: list[Wanted] = []
        self.users = _users(snapshot)
        self._stable = not (self.users & (self.home < 0)).any()
        self._of_pod = np.full(len(snapshot.pods), -1, dtype=np.int32)
        self.unmodeled: dict[int, str] = {}
        if self.zones.has_zones.any():
            needs = DeviceNeeds(
                inventory, snapshot.claim_templates, snapshot.device_classes, snapshot.unread
            )
            self._read(snapshot, needs, counted)
        self.counted: BoolArray = self._of_pod >= 0
        self.counted[list(self.unmodeled)] = True
        self._fresh: dict[int, FloatArray] = {}
        self._fewest: dict[int, IntArray] = {}
        self._proven: dict[int, BoolArray] = {}
        self._narrow: dict[tuple[int, int], Wanted] = {}
        self._known: dict[int, ZoneFit] = {}
        self._away: dict[int, set[int]] = {}
        self._guests: dict[int, set[int]] = {}

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        pod, source, destination = shift
        if not self.users[pod]:
            return
        home = int(self.home[pod])
        for holder, node, comes in (
            (self._away, home, destination != home),
            (self._guests, source, False),
            (self._guests, destination, destination != home),
        ):
            pods = holder.setdefault(node, set())
            (pods.add if comes else pods.discard)(pod)
        self.node[pod] = destination

    def zone_fit(self, pod: int) -> ZoneFit:
        """How the pod's devices lie where the snapshot has it."""
        if pod not in self._known:
            self._known[pod] = self._fit_at_home(pod)
        return self._known[pod]

    def numa_nodes(self, pod: int) -> set[int]:
        """The NUMA nodes on which devices of the pod are known to lie."""
        names = self.zones.names.get(int(self.home[pod]), [])
        return {names[zone] for zone in self._lies(pod)}

    def guests(self, node: int) -> dict[int, float]:
        """Pod to its charge, of the pods that came to the node in the working copy."""
        return self._charges(node, self._guests.get(node, set()), self._away.get(node, set()))

    def arrival_charges(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) per node, the charge of the pod plus the change of the charges of guests there."""
        home = int(self.home[pod])
        answer = np.zeros(len(nodes))
        if not self.users[pod]:
            return answer
        if self.counted[pod]:
            answer = self._charge_on(int(self._of_pod[pod]), self.zone_fit(pod).charge)[nodes]
        changed = [n for holder in (self._guests, self._away) for n, pods in holder.items() if pods]
        for row in np.flatnonzero(np.isin(nodes, [home, *changed])).tolist():
            answer[row] = self._arrival_charge(pod, int(nodes[row]))
        return answer

    def departure_change(self, pod: int) -> float:
        """How the charges of the guests on the pod's node change when it leaves."""
        node = int(self.node[pod])
        guests = self._guests.get(node, set()) - {pod}
        if node < 0 or not self.users[pod] or not guests:
            return 0.0
        away = self._away.get(node, set())
        before = sum(charge for guest, charge in self.guests(node).items() if guest != pod)
        absentees = away | {pod} if node == self.home[pod] else away
        return sum(self._charges(node, guests, absentees).values()) - before

    def _arrival_charge(self, pod: int, node: int) -> float:
        """The pod's charge on the node, plus the change of the charges of guests there."""
        guests, away = self._guests.get(node, set()) - {pod}, self._away.get(node, set()) - {pod}
        if node == self.home[pod]:
            own = self.zone_fit(pod).charge if self.counted[pod] else 0.0
            before = sum(self._charges(node, guests, away | {pod}).values())
            return own + sum(self._charges(node, guests, away).values()) - before
        before = sum(self._charges(node, guests, away).values())
        return sum(self._charges(node, guests | {pod}, away).values()) - before

    def _charges(self, node: int, guests: Iterable[int], away: set[int]) -> dict[int, float]:
        """Each guest's charge."""
        pods = sorted(guests)
        answer = {}
        for pod in pods:
            if not self.counted[pod]:
                continue
            number = int(self._of_pod[pod])
            charge = self.zone_fit(pod).charge
            if len(pods) == 1 and not away:
                charge = float(self._charge_on(number, charge)[node])
            elif number >= 0 and self._provable(number)[node]:
                at = np.array([node], dtype=np.int32)
                places = DeviceChoice(
                    self.zones, self._wanted_on_node(number, node), at, len(self._selected)
                )
                spread = places.spread(self._free_without(away), alone=False)
                charge = float(self._share(number, spread, at)[0])
            answer[pod] = charge
        return answer

    def _free_without(self, away: set[int]) -> BoolArray:
        """(devices,) which are free without these pods, whether they have left yet or not."""
        claims = self._held.claims.copy()
        for pod in away:
            claims[self._held.freed.get(pod, [])] -= 1
        return claims <= 0

    def _charge_on(self, number: int, zone_fit: float) -> FloatArray:
        """(nodes,) the charge of such a pod if no other pod comes or goes."""
        if number < 0:
            return np.full(len(self._selected), zone_fit)
        if number not in self._fresh:
            nodes = np.arange(len(self._selected), dtype=np.int32)
            spread = self._places(number, nodes).spread(self._free, alone=self._stable)
            self._fresh[number] = self._share(number, spread, nodes)
        return np.where(self._provable(number), self._fresh[number], zone_fit)

    def _share(self, number: int, spread: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) (zones - fewest) / (all zones - fewest) of each node; 1 if the pod fits nowhere."""
        least, width = self._fewest_zones(number)[nodes], self.zones.width[nodes]
        share = np.clip((spread - least) / np.maximum(width - least, 1), 0.0, 1.0)
        return np.where(spread > 0, share, 1.0)

    def _fewest_zones(self, number: int) -> IntArray:
        if number not in self._fewest:
            nodes = np.arange(len(self._selected), dtype=np.int32)
            self._fewest[number] = self._places(number, nodes).fewest_zones()
        return self._fewest[number]

    def _provable(self, number: int) -> BoolArray:
        """(nodes,) which are selected and have known zones for all suitable devices."""
        if number not in self._proven:
            nodes = np.arange(len(self._selected), dtype=np.int32)
            provable = self._places(number, nodes).knows_zones() & self.zones.has_zones
            self._proven[number] = provable & self._selected
        return self._proven[number]

    def _places(self, number: int, nodes: IntArray) -> DeviceChoice:
        return DeviceChoice(self.zones, self._wanted[number], nodes, len(self._selected))

    def _wanted_on_node(self, number: int, node: int) -> Wanted:
        key = number, node
        if key not in self._narrow:
            self._narrow[key] = narrow_to_node(self._wanted[number], self.zones, node)
        return self._narrow[key]

    def _lies(self, pod: int) -> set[int]:
        """The zones on which devices of the pod are known to lie."""
        held = self._held.of_pod.get(pod, [])
        return {int(self.zones.zone[device]) for device in held if self._is_known(pod, device)}

    def _is_known(self, pod: int, device: int) -> bool:
        """Whether the device lies on a known zone of the pod's node.

        Claims and pods are read one after the other, so a claim may name where a pod was to go.
        """
        here = self.zones.inventory.node[device] == self.home[pod]
        return bool(here and self.zones.zone[device] >= 0)

    def _fit_at_home(self, pod: int) -> ZoneFit:
        node, number = int(self.home[pod]), int(self._of_pod[pod])
        lies = self._lies(pod)
        if node < 0 or not lies:
            return ZoneFit(0.0, certain=False)
        names = ", ".join(str(self.zones.names[node][zone]) for zone in sorted(lies))
        least = (
            self._fewest_zones_by_driver(pod)
            if number < 0
            else int(self._fewest_zones(number)[node])
        )
        width = int(self.zones.width[node])
        charge = min(max((len(lies) - least) / max(width - least, 1), 0.0), 1.0)
        how = f"its devices lie on NUMA nodes {names} (by ResourceSlices), and {least} of "
        how += f"{width} could hold them"
        if number < 0:
            return ZoneFit(charge, how)
        held = self._held.of_pod[pod]
        unlocated = [device for device in held if not self._is_known(pod, device)]
        needs = self._wanted[number].needs if unlocated else []
        unknown = any(device in need.devices for need in needs for device in unlocated)
        return ZoneFit(charge, how, certain=not unknown and pod not in self._held.lost)

    def _fewest_zones_by_driver(self, pod: int) -> int:
        """The fewest zones of the pod's node with as many devices of the same drivers as it has."""
        node, inventory = int(self.home[pod]), self.zones.inventory
        width = int(self.zones.width[node])
        there = np.flatnonzero((inventory.node == node) & (self.zones.zone >= 0)).tolist()
        cells = Counter((inventory.subjects[d].driver, int(self.zones.zone[d])) for d in there)
        held = {d for d in self._held.of_pod[pod] if self._is_known(pod, d)}
        wanted = Counter(inventory.subjects[d].driver for d in held)
        for size in range(1, width):
            for chosen in combinations(range(width), size):
                if all(sum(cells[name, z] for z in chosen) >= n for name, n in wanted.items()):
                    return size
        return width

    def _read(
        self,
        snapshot: Snapshot,
        needs: DeviceNeeds,
        counted: BoolArray,
    ) -> None:
        """Read what each pod with claims needs, if its devices can be aligned."""
        numbers: dict[int, int] = {}
        for pod in np.flatnonzero(counted & (self.home >= 0)).tolist():
            spec = snapshot.pods[pod].spec
            if not self.users[pod]:
                continue
            if not spec.resourceClaims:
                if len(self._lies(pod)) > 1:
                    self.unmodeled[pod] = "a claim serves its extended resources"
                continue
            choice = _one_choice(needs.needs_of_spec(snapshot.pods[pod].metadata.namespace, spec))
            if isinstance(choice, str):
                if len(self._lies(pod)) > 1:
                    self.unmodeled[pod] = choice
                continue
            if id(choice) not in numbers:
                wanted = wanted_of(choice, self.zones)
                numbers[id(choice)] = -1 if wanted is None else len(self._wanted)
                self._wanted += [] if wanted is None else [wanted]
            self._of_pod[pod] = numbers[id(choice)]


def _one_choice(choices: tuple[Needs, ...] | str) -> Needs | str:
    """The needs, if they are whole devices without alternatives; else why they are not."""
    if isinstance(choices, str):
        return choices
    if len(choices) > 1:
        return "its claims have alternatives"
    if choices[0].parts or choices[0].partitions:
        return "it may get parts of devices"
    return choices[0]


def _users(snapshot: Snapshot) -> BoolArray:
    """(pods,) which take devices: by claims, or by extended resources that a class may serve."""
    names = extended_names(snapshot.device_classes)
    uses = [
        bool(spec.resourceClaims) or bool(served_by_class(spec, names)) for spec in snapshot.specs
    ]
    answer: BoolArray = np.array(uses, dtype=np.bool_)[snapshot.pod_spec]
    return answer

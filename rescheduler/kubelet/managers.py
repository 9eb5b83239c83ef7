"""The CPU, memory and device managers of one kubelet, as amounts by NUMA zone.

Source: pkg/kubelet/cm/cpumanager/policy_static.go, memorymanager/policy_static.go and
devicemanager/topology_hints.go. Which CPU or which device of a zone a container
gets is not kept: hints only count them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rescheduler.kubelet.hints import Hint, Hints, bits, hints_of_masks, masks_of, narrowness, sums

MOST_ZONES = 12
"""Zones of one resource; kubelet itself tries every set of them, and takes minutes above 8."""


class AdmissionError(Exception):
    """A manager cannot give what a container wants; kubelet refuses the pod whatever its policy."""


@dataclass
class Pool:
    """CPUs, or the devices of one resource. total: that there are, out of order or reserved too.

    free: that may be given. reusable: of those that are given, what ended init containers of the
    pod that is being admitted leave to its later ones. All by zone.
    """

    total: list[int]
    free: list[int]
    reusable: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Another pod is admitted."""
        self.reusable = [0] * len(self.total)

    def copy(self) -> "Pool":
        """The same, for another try."""
        return Pool(list(self.total), list(self.free))

    def hints(self, wanted: int) -> Hints:
        """Every set of zones with enough, those of as few zones as could ever be enough first."""
        bearing = sum(1 << zone for zone, amount in enumerate(self.total) if amount)
        if bearing.bit_count() > MOST_ZONES:
            raise AdmissionError
        masks = masks_of(bearing)
        totals = sums(self.total, masks)
        least = min(
            (mask.bit_count() for mask in masks if totals[mask] >= wanted),
            default=bearing.bit_count(),
        )
        must = sum(1 << zone for zone, amount in enumerate(self.reusable) if amount)
        open_ = sums(
            [free + old for free, old in zip(self.free, self.reusable, strict=True)], masks
        )
        candidates = [mask for mask in masks if not must & ~mask and open_[mask] >= wanted]
        return hints_of_masks(candidates, least)

    def take(self, wanted: int, mask: int | None, *, ends: bool, packed: bool) -> None:
        """Give a container what it wants, what can be reused and what lies in the mask first.

        packed: whole zones are taken first, then those with the least left, as CPUs are.
        """
        inside = bits(mask) if mask is not None else range(len(self.total))
        outside = [zone for zone in range(len(self.total)) if zone not in inside]
        amounts = [0] * len(self.total)
        for zones in (inside, outside):
            self._take_of(list(zones), wanted, amounts, packed=packed)
        if sum(amounts) < wanted:
            raise AdmissionError
        for zone, amount in enumerate(amounts):
            again = min(amount, self.reusable[zone])
            self.free[zone] -= amount - again
            if ends:
                self.reusable[zone] += amount - again
            else:
                self.reusable[zone] -= again

    def _take_of(self, zones: list[int], wanted: int, amounts: list[int], *, packed: bool) -> None:
        available = {zone: self.free[zone] + self.reusable[zone] for zone in zones}

        def order(zone: int) -> tuple[int, int]:
            return (available[zone] if packed else -self.reusable[zone], zone)

        for full in (True, False) if packed else (False,):
            for zone in sorted(zones, key=order):
                owed = wanted - sum(amounts)
                if full and (available[zone] < self.total[zone] or owed < available[zone]):
                    continue
                amount = min(available[zone], owed)
                amounts[zone] += amount
                available[zone] -= amount


@dataclass
class MemoryZones:
    """The memory manager's machine state.

    total, free: resource to bytes by zone. cells: by zone, the mask of the zones that it is used
    together with, 0 while nobody uses it: zones that one pod has alone and zones that pods have
    together do not mix.
    """

    total: dict[str, list[int]]
    free: dict[str, list[int]]
    cells: list[int]
    reusable: dict[int, dict[str, int]] = field(default_factory=dict)

    def begin(self) -> None:
        """Another pod is admitted."""
        self.reusable = {}

    def copy(self) -> "MemoryZones":
        """The same, for another try."""
        return MemoryZones(
            {name: list(amounts) for name, amounts in self.total.items()},
            {name: list(amounts) for name, amounts in self.free.items()},
            list(self.cells),
        )

    def hints(self, wanted: Mapping[str, int]) -> Hints:
        """calculateHints: sets of zones with enough of everything; one list for all of them."""
        masks = masks_of((1 << len(self.cells)) - 1)
        none = [0] * len(self.cells)
        totals = {name: sums(self.total.get(name, none), masks) for name in wanted}
        free = {name: sums(self.free.get(name, none), masks) for name in wanted}
        least, candidates = len(self.cells), []
        for mask in masks:
            if any(totals[name][mask] < size for name, size in wanted.items()):
                continue
            least = min(least, mask.bit_count())
            again = self.reusable.get(mask, {})
            if self._is_allowed(mask) and all(
                free[name][mask] + again.get(name, 0) >= size for name, size in wanted.items()
            ):
                candidates.append(mask)
        return hints_of_masks(candidates, least)

    def _is_allowed(self, mask: int) -> bool:
        if mask.bit_count() == 1:
            return self.cells[bits(mask)[0]] in (0, mask)
        return all(self.cells[zone] in (0, mask) for zone in bits(mask))

    def take(self, wanted: Mapping[str, int], hint: Hint, *, ends: bool) -> None:
        """Allocate: the zones of the hint, or such as hold it; refused where there are none."""
        mask = hint.mask
        if mask is None:
            mask = self._best(self.hints(wanted), hint)
        if not self._holds(mask, wanted):
            wider = {
                candidate: good
                for candidate, good in self.hints(wanted).items()
                if not mask & ~candidate
            }
            mask = self._best(wider, hint)
        if mask.bit_count() > 1 and not self._is_allowed(mask):
            raise AdmissionError
        again = self.reusable.setdefault(mask, {})
        for name, size in wanted.items():
            owed = max(size - again.get(name, 0), 0)
            for zone in bits(mask):
                self.cells[zone] = mask
                amount = min(owed, self.free[name][zone])
                self.free[name][zone] -= amount
                owed -= amount
            if ends:
                again[name] = max(again.get(name, 0), size)
            else:
                again[name] = max(again.get(name, 0) - size, 0)

    @staticmethod
    def _best(hints: Hints, hint: Hint) -> int:
        if not hints:
            raise AdmissionError
        best = min(hints, key=lambda mask: (not hints[mask], *narrowness(mask)))
        if hint.preferred and not hints[best]:
            raise AdmissionError
        return best

    def _holds(self, mask: int, wanted: Mapping[str, int]) -> bool:
        return all(
            sum(self.free[name][zone] for zone in bits(mask)) >= size
            if name in self.free
            else not size
            for name, size in wanted.items()
        )

"""Kubelet's topology hints: sets of NUMA zones as bit masks, and how a policy merges them.

Source: pkg/kubelet/cm/topologymanager/policy.go and policy_*.go, without the
option prefer-closest-numa-nodes, which no object in the API shows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

SINGLE, RESTRICTED = "single-numa-node", "restricted"

Hints = dict[int, bool]
"""Mask to whether it is preferred; without any entry the request cannot be satisfied."""


@dataclass(frozen=True, slots=True)
class Hint:
    """The zones that the containers get, None for any; and whether it is what they would like."""

    mask: int | None
    preferred: bool


@cache
def masks_of(zones: int) -> tuple[int, ...]:
    """Every set of some of these zones, narrow ones first, then by the lowest ids."""
    masks = []
    mask = zones
    while mask:
        masks.append(mask)
        mask = (mask - 1) & zones
    return tuple(sorted(masks, key=narrowness))


def narrowness(mask: int) -> tuple[int, int]:
    """What kubelet compares two masks by: bitmask.IsNarrowerThan."""
    return mask.bit_count(), mask


def bits(mask: int) -> list[int]:
    """The zones of a mask."""
    return [zone for zone in range(mask.bit_length()) if mask >> zone & 1]


def sums(amounts: Sequence[int], masks: Iterable[int]) -> dict[int, int]:
    """Mask to the sum of its zones' amounts; narrow masks come before wider ones."""
    answer: dict[int, int] = {0: 0}
    for mask in masks:
        rest = mask & (mask - 1)
        low = (mask & -mask).bit_length() - 1
        answer[mask] = answer[rest] + amounts[low]
    return answer


def hints_of_masks(masks: Iterable[int], least: int) -> Hints:
    """These masks; those with so few zones are preferred."""
    return {mask: mask.bit_count() == least for mask in masks}


def merge_hints(hints: Sequence[Hints], policy: str, everywhere: int) -> tuple[Hint, bool]:
    """The best hint of all combinations, and whether the policy admits a pod with it.

    hints: of each resource that has a preference. everywhere: the mask of all zones.
    """
    if policy == SINGLE:
        kept = [_single(hint) for hint in hints]
        common = set.intersection(*map(set, kept)) if kept else {everywhere}
        if not common:
            return Hint(None, preferred=False), False
        mask = min(common)
        return Hint(None if mask == everywhere else mask, preferred=True), True
    wanted = [{mask for mask, preferred in hint.items() if preferred} for hint in hints]
    common = set.intersection(*wanted) if wanted else {everywhere}
    if common:
        return Hint(min(common, key=narrowness), preferred=True), True
    return Hint(_compromise(hints, everywhere), preferred=False), policy != RESTRICTED


def _single(hints: Hints) -> list[int]:
    return [mask for mask, preferred in hints.items() if preferred and mask.bit_count() == 1]


def _compromise(hints: Sequence[Hints], everywhere: int) -> int:
    """The mask where no hint is preferred: as wide as the widest need, or else nearly.

    Source: HintMerger.compare.
    """
    reached = {everywhere}
    for hint in hints:
        if hint:
            reached = {mask & other for mask in reached for other in hint} - {0}
    if not reached:
        return everywhere
    target = max((min(map(int.bit_count, hint)) for hint in hints if hint), default=0)

    def order(mask: int) -> tuple[int, int, int]:
        size = mask.bit_count()
        if size > target:
            return 2, size, mask
        return (0, 0, mask) if size == target else (1, -size, mask)

    return min(reached, key=order)

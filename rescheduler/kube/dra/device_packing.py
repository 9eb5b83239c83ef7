"""Several devices for one pod, if some are partitions of the same device.

Source: dynamic-resource-allocation structured/internal/incubating/allocator_incubating.go
(allocateOne, checkAvailableCounters): the allocator tries every choice until one can be had.
"""

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np

from rescheduler.kube.arrays import Int64Array, IntArray

MOST_CHOICES = 5_000
"""The most choices of devices on one node that are tried for one pod."""

Uses = Mapping[int, Sequence[tuple[int, int]]]
"""Device to what it takes of each counter, by the counter's number."""


def choices(needs: Sequence[tuple[IntArray, int]], node: IntArray) -> int:
    """How many choices there are on the node with the most.

    needs: devices, and how many of them. node: (devices,) of each, -1 for none.
    """
    counts = np.stack([_by_node(node[devices], int(node.max()) + 1) for devices, _ in needs])
    numbers = [number for _, number in needs]
    most = 0
    for row in np.unique(counts.T, axis=0).tolist():
        several = 1
        for count, number in zip(row, numbers, strict=True):
            several *= comb(count, number)
        most = max(most, several)
    return most


def pack(
    needs: Sequence[tuple[Sequence[int], int]], uses: Uses, available: Int64Array
) -> list[int]:
    """The first choice that can be had, in the order of the devices; none where there is none.

    needs: of one node, the devices that will do, and how many of them, at least one. available: of
    each counter.
    """
    chosen: list[int] = []
    remaining = available.tolist()

    def serve(need: int, had: int, start: int) -> bool:
        if need == len(needs):
            return True
        devices, number = needs[need]
        if had == number:
            return serve(need + 1, 0, 0)
        for place in range(start, len(devices)):
            device = devices[place]
            takes = uses.get(device, ())
            if device in chosen or any(remaining[counter] < amount for counter, amount in takes):
                continue
            for counter, amount in takes:
                remaining[counter] -= amount
            chosen.append(device)
            if serve(need, had + 1, place + 1):
                return True
            chosen.pop()
            for counter, amount in takes:
                remaining[counter] += amount
        return False

    return chosen if serve(0, 0, 0) else []


def _by_node(nodes: IntArray, count: int) -> IntArray:
    return np.bincount(nodes[nodes >= 0], minlength=count).astype(np.int32)

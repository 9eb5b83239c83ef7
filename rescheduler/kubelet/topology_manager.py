"""Kubelet's topology manager: which zones it gives a pod, and whether it admits the pod at all.

Source: pkg/kubelet/cm/topologymanager (policy.go, policy_*.go, scope_*.go). A
hint of a resource is preferred where it has as few zones as could ever hold the request; a merged
hint is preferred where all resources have the same zones and each hint is preferred. Of those the
narrowest counts, then the one with the lowest ids.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from rescheduler.kubelet.numa_zones import BEST_EFFORT, RESTRICTED, SINGLE, ZoneDemand, Zones
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PodAdmitResult:
    """What becomes of one pod on each of k nodes.

    admitted: (k,) whether kubelet takes it. aligned: (k,) whether its zones are as few as can be,
    for certain. spread: (k,) over how many zones it lies, 0 where that is not certain. free: (k,
    zones, resources) what is left.
    """

    admitted: BoolArray
    aligned: BoolArray
    spread: IntArray
    free: FloatArray


def place(zones: Zones, nodes: IntArray, free: FloatArray, demand: ZoneDemand) -> PodAdmitResult:
    """Where kubelet would put a pod of this demand on each of these nodes.

    free: (k, zones, resources) what is not given away there. Nodes that are not known admit
    nothing and align nothing; the caller has to distinguish them.
    """
    policy = zones.policy[nodes]
    aligned = np.ones(len(nodes), dtype=np.bool_)
    single = np.ones(len(nodes), dtype=np.bool_)
    touched = np.zeros((len(nodes), zones.total.shape[1]), dtype=np.bool_)
    remainder = free.copy()
    for by_pod, steps in ((True, (demand.whole,)), (False, demand.steps)):
        rows = np.flatnonzero(zones.by_pod[nodes] == by_pod)
        if not len(rows):
            continue
        total = zones.total[nodes[rows]]
        for step in steps:
            chosen, fits, hinted = _choose(total, remainder[rows], step)
            aligned[rows] &= fits
            single[rows] &= ~hinted | (chosen.sum(axis=1) <= 1)
            touched[rows] |= chosen & hinted[:, None]
            remainder[rows] = _remaining_after(remainder[rows], chosen, step)
    # What single-numa-node cannot put into one zone it does not take, however it would lie.
    aligned &= single | (policy != SINGLE)
    spread = np.where(aligned & (policy >= BEST_EFFORT), touched.sum(axis=1), 0)
    admitted = np.where(policy >= RESTRICTED, aligned, policy > 0)
    modeled = demand.modeled | (policy < RESTRICTED)
    return PodAdmitResult(
        admitted=np.asarray(admitted & modeled, dtype=np.bool_),
        aligned=np.asarray(aligned & (policy >= BEST_EFFORT) & modeled, dtype=np.bool_),
        spread=spread.astype(np.int32),
        free=remainder,
    )


def fewest_zones(zones: Zones, nodes: IntArray, demand: ZoneDemand) -> IntArray:
    """(k,) in how few zones of an empty node the pod could lie; 1 where it wants nothing there."""
    return np.asarray(_fewest_by_resource(zones.total[nodes], demand.whole).max(axis=1, initial=1))


def least_spread(used: FloatArray, wanted: FloatArray) -> int:
    """In how many zones a pod lies at least, if each zone has given away `used`; 0 is not known.

    used: (zones, resources) given away, to this pod and to others. A resource counts only if enough
    of it is given away in all: the others are not accounted for.
    """
    counted = (wanted > 0) & (used.sum(axis=0) >= wanted - _ROUNDING)
    if not counted.any():
        return 0
    for mask in _masks(len(used)):
        if (used[mask].sum(axis=0)[counted] >= wanted[counted] - _ROUNDING).all():
            return int(mask.sum())
    return 0


@cache
def _masks(zones: int) -> tuple[BoolArray, ...]:
    """Every set of zones, the narrow ones first, then by the lowest ids."""
    numbers = sorted(range(1, 2**zones), key=lambda mask: (mask.bit_count(), mask))
    return tuple(
        np.array([number >> zone & 1 for zone in range(zones)], dtype=np.bool_)
        for number in numbers
    )


def _fewest_by_resource(total: FloatArray, wanted: FloatArray) -> IntArray:
    """(k, resources) the fewest zones that hold the request; 0 where the node has none of it."""
    listed = (wanted > 0) & (total.sum(axis=1) > 0)
    answer = np.full(listed.shape, total.shape[1], dtype=np.int32)
    for mask in reversed(_masks(total.shape[1])):
        holds = total[:, mask].sum(axis=1) >= wanted - _ROUNDING
        answer = np.where(holds, min(int(mask.sum()), total.shape[1]), answer)
    return np.where(listed, answer, 0)


def _choose(
    total: FloatArray, free: FloatArray, wanted: FloatArray
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """(k, zones) the zones of the best preferred hint; (k,) whether there is one; (k,) on request.

    The last: whether the demand needs a hint there at all. A resource that no zone of the node
    reports gives no hint.
    """
    least = _fewest_by_resource(total, wanted)
    concerned: BoolArray = np.asarray(least > 0, dtype=np.bool_)
    hinted: BoolArray = np.asarray(concerned.any(axis=1), dtype=np.bool_)
    fits: BoolArray = ~hinted
    chosen = np.zeros(free.shape[:2], dtype=np.bool_)
    for mask in _masks(free.shape[1]):
        room = (free[:, mask].sum(axis=1) >= wanted - _ROUNDING) & (least == mask.sum())
        best: BoolArray = np.asarray(np.all(room | ~concerned, axis=1) & ~fits)
        chosen[best] = mask
        fits = fits | best
    return chosen, fits, hinted


def _remaining_after(free: FloatArray, chosen: BoolArray, wanted: FloatArray) -> FloatArray:
    """What is left when the chosen zones have given what was wanted, the lowest first."""
    remainder = free.copy()
    served: BoolArray = np.asarray(chosen.any(axis=1), dtype=np.bool_)
    owed = np.where(served[:, None], wanted, 0.0)
    for zone in range(free.shape[1]):
        amount = np.where(chosen[:, zone, None], np.minimum(remainder[:, zone], owed), 0.0)
        remainder[:, zone] -= amount
        owed = owed - amount
    return remainder

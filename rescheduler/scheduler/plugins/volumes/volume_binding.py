"""Plugin VolumeBinding: a pod goes where all its volumes can be reached, or can be made."""

from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import (
    MAX_SCORE,
    FeatureGate,
    Filter,
    Plugin,
    Replacement,
    Score,
    ScoreArray,
)
from rescheduler.scheduler.plugins.volumes.claim_offers import ClaimOffers, VolumeOffer
from rescheduler.scheduler.plugins.volumes.claims import Claims, PodClaims
from rescheduler.scheduler.profile import Profile


class VolumeBinding(Plugin):
    """Claims and volumes stay as the snapshot has them, so each shape is evaluated once."""

    name: ClassVar[str] = "VolumeBinding"
    weight: ClassVar[int] = 1
    gates: ClassVar[tuple[FeatureGate, ...]] = (
        FeatureGate("StorageCapacityScoring", 37, "capacity_scoring"),
    )
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True
    needs_pre_score: ClassVar[bool] = False

    def __init__(self, offers: ClaimOffers, claims: Claims, profile: Profile) -> None:
        self._offers = offers
        self._claims = claims
        self._profile = profile

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """What the nodes offer is one for all profiles."""
        return cls(handle.part(_offers), handle.part(Claims.new), profile)

    def problem(self, pod: Pod) -> str | None:
        """What a claim of the pod can be bound to is not known."""
        return self._claims.problem(pod)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes that reach every bound volume, and have one for every claim that waits."""
        claims = self._claims.pod_claims(pod.namespace, pod.spec)
        if not (claims.bound or claims.waiting or claims.hopeless):
            return None
        passing = self._passing_nodes(claims)
        return lambda: passing

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """Volumes that cannot be reached, or claims for which there is none."""
        claims = self._claims.pod_claims(pod.namespace, pod.spec)
        if claims.hopeless:
            return {claims.hopeless: ~self._passing_nodes(claims)}
        bound = self._passing_nodes(replace(claims, waiting=[]))
        return {
            "node(s) didn't match PersistentVolume's node affinity": ~bound,
            "node(s) didn't find available persistent volumes to bind": bound
            & ~self._passing_nodes(claims),
        }

    def score(self, pod: Replacement) -> Score | None:
        """More room left in what the claims are taken from is better (since 1.37)."""
        if not self._profile.capacity_scoring:
            return None
        claims = self._claims.pod_claims(pod.namespace, pod.spec)
        if not claims.waiting or claims.hopeless:
            return None
        points = capacity_scores(self._offers.offer(claims.waiting))
        return partial(_take, points)

    def _passing_nodes(self, claims: PodClaims) -> BoolArray:
        passing = np.full(self._offers.count, not claims.hopeless, dtype=np.bool_)
        if claims.hopeless:
            return passing
        for volume in claims.bound:
            reachable = self._offers.reachable(volume)
            if reachable is not None:
                passing &= reachable
        if claims.waiting:
            passing &= self._offers.offer(claims.waiting).passing
        return passing


def capacity_scores(offer: VolumeOffer) -> ScoreArray:
    """(nodes,) the mean over storage classes of the share that stays free, in percent.

    Where a node has static volumes for the pod, these alone are considered.
    Source: plugins/volumebinding/scorer.go with the default shape.
    """
    ready, made = (_mean_free(classes, len(offer.passing)) for classes in (offer.ready, offer.made))
    return np.where(offer.static, ready, made)


def _mean_free(classes: dict[str, tuple[Int64Array, Int64Array]], count: int) -> ScoreArray:
    points, number = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for needed, room in classes.values():
        fits = (needed > 0) & (needed <= room)
        points += np.where(fits, MAX_SCORE - needed * MAX_SCORE // np.maximum(room, 1), 0)
        number += needed > 0
    mean: ScoreArray = np.floor(points / np.maximum(number, 1) + 0.5).astype(np.int64)
    return mean


def _take(points: ScoreArray, nodes: IntArray) -> ScoreArray:
    return points[nodes]


def _offers(handle: Handle) -> ClaimOffers:
    return ClaimOffers(handle.snapshot, handle.labels, handle.selection, handle.part(Claims.new))

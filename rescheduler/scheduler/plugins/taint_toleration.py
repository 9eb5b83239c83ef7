"""Plugin TaintToleration: taints keep pods away, or make a node less liked."""

from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.pods.tolerations import SOFT_TAINT, NodeTaints, is_tolerated
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import MAX_SCORE, ByMaximum, Relative
from rescheduler.scheduler.plugin import (
    FeatureGate,
    Filter,
    Plugin,
    Replacement,
    Score,
    ScoreArray,
    Steer,
)
from rescheduler.scheduler.profile import Profile


class TaintToleration(Plugin):
    """Source: pkg/scheduler/framework/plugins/tainttoleration."""

    name: ClassVar[str] = "TaintToleration"
    weight: ClassVar[int] = 3
    gates: ClassVar[tuple[FeatureGate, ...]] = (
        FeatureGate("TaintTolerationComparisonOperators", None),
    )
    rejection: ClassVar[str] = "node(s) had untolerated taint(s)"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True
    needs_pre_filter: ClassVar[bool] = False

    def __init__(self, taints: NodeTaints) -> None:
        self._taints = taints

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """Of the cluster's taints, for every profile alike."""
        return cls(handle.taints)

    def follows(self, steer: Steer) -> bool:
        """A taint more on some nodes."""
        return steer.tainted is not None

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes whose taints the pod tolerates."""
        passing = self._taints.tolerated_nodes(pod.spec.tolerations)
        return None if passing.all() else lambda: passing

    def score(self, pod: Replacement) -> Score:
        """Fewer untolerated PreferNoSchedule taints are better."""
        disliked = self._taints.count_soft_taints(pod.spec.tolerations)
        tainted = None if pod.steer is None else pod.steer.tainted
        if tainted is not None and not is_tolerated(SOFT_TAINT, pod.spec.tolerations):
            disliked = disliked + (tainted & ~self._taints.nodes_with_taint(SOFT_TAINT))
        return partial(self._score, disliked.astype(np.int64) if disliked.any() else None)

    @staticmethod
    def _score(raw: ScoreArray | None, nodes: IntArray) -> ScoreArray | Relative:
        if raw is None:
            return np.full(len(nodes), MAX_SCORE, dtype=np.int64)
        return ByMaximum(raw[nodes], reverse=True)

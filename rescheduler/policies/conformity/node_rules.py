"""Taints that pods do not tolerate and node affinity that is not met, where pods are now.

A charge is from 0 to 1. A broken requirement costs 1.0. A broken preference costs at most 0.5: half
of how far the node is below the best node that accepts the pod. So a preference that no node can
satisfy costs nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from rescheduler.kube.objects import PodSpec, Taint
from rescheduler.kube.pods.tolerations import HARD, SOFT_TAINT
from rescheduler.model.cluster.readings import BoolArray, FloatArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.shared.acceptance import Acceptance

SOFT = 0.5
"""What a preference that is not met at all costs."""


_OF_KUBERNETES = "node.kubernetes.io/"
"""The taints that Kubernetes sets itself, for a cordon or a node's condition.

Source: k8s.io/api core/v1 well_known_taints.go.
"""


class NodeRules(NamedTuple):
    """Which rules are evaluated.

    effects: the effects of taints that count; empty if taints are not evaluated. only, ignored:
    taints that count and that do not, as `key`, `key=value`, or `prefix/`; an empty `only` means
    all taints that Kubernetes does not set.
    """

    effects: frozenset[str] = frozenset()
    only: Sequence[str] = ()
    ignored: Sequence[str] = ()
    required: bool = False
    preferred: bool = False


class Charges(NamedTuple):
    """(nodes,) the charges of one shape of pods on each node; total is the highest of them."""

    taints: BoolArray
    affinity: BoolArray
    required_terms: FloatArray
    total: FloatArray


class NodeCharges:
    """The charges per shape of pod, for all nodes at once; None if no node is charged."""

    def __init__(self, rules: NodeRules, snapshot: Snapshot) -> None:
        self._rules = rules
        self._acceptance = Acceptance(snapshot)
        self._known: dict[bytes, Charges | None] = {}
        self._of_spec: dict[int, Charges | None] = {}

    def charges_of_spec(self, spec: PodSpec) -> Charges | None:
        """The charges of a pod with this spec."""
        # The snapshot keeps every spec alive, so an id means one spec.
        if id(spec) not in self._of_spec:
            affinity = spec.affinity.nodeAffinity if spec.affinity else None
            key = msgspec.msgpack.encode((spec.nodeSelector, affinity, spec.tolerations))
            if key not in self._known:
                self._known[key] = self._evaluate(spec)
            self._of_spec[id(spec)] = self._known[key]
        return self._of_spec[id(spec)]

    def _evaluate(self, spec: PodSpec) -> Charges | None:
        nowhere = np.zeros(self._acceptance.labels.count, dtype=np.bool_)
        hard = self._rules.effects & frozenset(HARD)
        taints = self._untolerated_taints(spec, hard) > 0 if hard else nowhere
        affinity = ~self._acceptance.selected_nodes(spec) if self._rules.required else nowhere
        required_terms = np.maximum(self._soft_taint_excess(spec), self._affinity_shortfall(spec))
        total = np.where(taints | affinity, 1.0, required_terms)
        return Charges(taints, affinity, required_terms, total) if total.any() else None

    def _untolerated_taints(self, spec: PodSpec, effects: frozenset[str]) -> FloatArray:
        return self._acceptance.count_untolerated(
            spec, lambda taint: taint.effect in effects and self._counts_taint(taint)
        ).astype(np.float64)

    def _soft_taint_excess(self, spec: PodSpec) -> FloatArray:
        """PreferNoSchedule taints above the fewest of an accepting node, as a share of the most.

        Source: pkg/scheduler/framework/plugins/tainttoleration, Score and its normalization.
        """
        counts = self._untolerated_taints(spec, self._rules.effects & {"PreferNoSchedule"})
        return _shortfall(-counts, counts.max(initial=0.0), self._acceptance.nodes(spec))

    def _affinity_shortfall(self, spec: PodSpec) -> FloatArray:
        """Weight of preferred node affinity below the best accepting node, as a share of the most.

        Source: pkg/scheduler/framework/plugins/nodeaffinity, Score and its normalization.
        """
        weight = self._acceptance.preferred_weights(spec) if self._rules.preferred else None
        if weight is None:
            return np.zeros(self._acceptance.labels.count)
        return _shortfall(weight, weight.max(initial=0.0), self._acceptance.nodes(spec))

    def _counts_taint(self, taint: Taint) -> bool:
        rules = self._rules
        if rules.only:
            return _matches_any(taint, rules.only) and not _matches_any(taint, rules.ignored)
        if (taint.key, taint.effect) == (SOFT_TAINT.key, SOFT_TAINT.effect):
            return False  # our own; it goes as soon as a replacement is placed
        return not _matches_any(taint, (*rules.ignored, _OF_KUBERNETES))


def _shortfall(worth: FloatArray, most: float, accepting: BoolArray) -> FloatArray:
    """(nodes,) SOFT times how far a node is below the best accepting one, as a share of `most`."""
    if most <= 0 or not accepting.any():
        return np.zeros(len(worth))
    answer: FloatArray = SOFT * np.clip((worth[accepting].max() - worth) / most, 0.0, 1.0)
    return answer


def _matches_any(taint: Taint, named: Sequence[str]) -> bool:
    whole = f"{taint.key}={taint.value or ''}"
    return any(
        pattern in (taint.key, whole) or (pattern.endswith("/") and taint.key.startswith(pattern))
        for pattern in named
    )

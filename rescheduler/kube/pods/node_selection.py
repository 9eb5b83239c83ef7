"""Which nodes a pod selects: its nodeSelector, and its required and preferred node affinity.

Source: component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from rescheduler.kube.arrays import BoolArray, Int64Array
from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import (
    NodeAffinity,
    NodeSelector,
    PodSpec,
    PreferredSchedulingTerm,
)

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def node_affinity(spec: PodSpec) -> NodeAffinity:
    """The node affinity of a pod; an empty one where it has none."""
    return (spec.affinity.nodeAffinity if spec.affinity else None) or NodeAffinity()


class NodeSelection:
    """Answers depend on labels and names alone, so each distinct question is answered once.

    Answers are shared: do not write into them.
    """

    def __init__(self, labels: NodeLabels) -> None:
        self._labels = labels
        self._required: dict[bytes, BoolArray] = {}
        self._selected: dict[bytes, BoolArray] = {}
        self._preferred: dict[bytes, Int64Array] = {}

    def required_nodes(self, spec: PodSpec) -> BoolArray | None:
        """(nodes,) nodes that the nodeSelector and the required affinity accept; None: all."""
        wanted = node_affinity(spec).requiredDuringSchedulingIgnoredDuringExecution
        if not spec.nodeSelector and wanted is None:
            return None
        key = _encode((spec.nodeSelector, wanted))
        nodes = self._required.get(key)
        if nodes is None:
            nodes = self._labels.nodes_with_labels(spec.nodeSelector or {})
            if wanted is not None:
                nodes &= self._labels.nodes_of_selector(wanted)
            self._required[key] = nodes
        return nodes

    def selected_nodes(self, selector: NodeSelector | None) -> BoolArray | None:
        """(nodes,) the nodes that a node selector accepts, a pod's or a volume's; None: all."""
        if selector is None:
            return None
        key = _encode(selector)
        nodes = self._selected.get(key)
        if nodes is None:
            nodes = self._selected[key] = self._labels.nodes_of_selector(selector)
        return nodes

    def preference_weights(self, terms: Sequence[PreferredSchedulingTerm]) -> Int64Array:
        """(nodes,) the weight of those of the terms that each node meets."""
        key = _encode(terms)
        weights = self._preferred.get(key)
        if weights is None:
            weights = np.zeros(self._labels.count, dtype=np.int64)
            for term in terms:
                weights += term.weight * self._labels.nodes_of_term(term.preference)
            self._preferred[key] = weights
        return weights

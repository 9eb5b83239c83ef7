"""Cost of every node for a pod of each controller, by all policies: the extender's scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.planning.binding import Binding, bind
from rescheduler.planning.evaluation.evaluation import NOTHING
from rescheduler.policies.base import Policy

STEPS = 250
"""Between the best and the worst node of a controller, costs are kept in so many steps."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The weighted cost of a pod of each controller on each node, from 0 (best) to `STEPS`.

    nodes: names. rows: UID of a controller to its row; one for which all nodes are alike has none.
    costs: (rows, nodes).
    """

    nodes: list[str]
    rows: dict[str, int]
    costs: npt.NDArray[np.uint8]


def advise(snapshot: Snapshot, policies: Iterable[Policy]) -> Advice:
    """What the Enforce policies say, by the pods that controllers have now.

    A new pod is taken for one like its siblings: its cost on a node is what moving a sibling there
    would change. One that is being deleted comes first, for it is the one that gets replaced. On
    the node where that sibling runs a second one stands in, as moving there changes nothing.
    """
    bindings = [
        binding
        for binding in bind(policies, snapshot)
        if binding.enforced and binding.policy.weight > 0
    ]
    rows: dict[str, int] = {}
    costs: list[npt.NDArray[np.uint8]] = []
    if any(binding.term is not None for binding in bindings):
        for owner, pods in _siblings(snapshot).items():
            row = _steps(_costs(snapshot, bindings, pods))
            if row is not None:
                rows[owner] = len(costs)
                costs.append(row)
    names = [node.metadata.name for node in snapshot.nodes]
    stacked = np.array(costs, dtype=np.uint8).reshape(len(costs), len(names))
    return Advice(names, rows, stacked)


def _siblings(snapshot: Snapshot) -> dict[str, list[int]]:
    """UID of each controller to one of its pods, or to two that are on different nodes."""
    siblings: dict[str, list[int]] = {}
    where, leaving = snapshot.pod_node, snapshot.leaving
    for pod in np.argsort(~leaving, kind="stable").tolist():
        owner = snapshot.pods[pod].controller
        if owner is None or where[pod] < 0 or snapshot.on_own_node[pod]:
            continue
        pods = siblings.setdefault(owner.uid, [])
        if len(pods) < 2 and all(where[sibling_pod] != where[pod] for sibling_pod in pods):
            pods.append(pod)
    return siblings


def _costs(snapshot: Snapshot, bindings: Sequence[Binding], pods: Sequence[int]) -> FloatArray:
    nodes = np.arange(len(snapshot.nodes), dtype=np.int32)
    first = _changes(bindings, pods[0], nodes)
    source = int(snapshot.pod_node[pods[0]])
    if len(pods) > 1 and not snapshot.leaving[pods[0]]:
        second = _changes(bindings, pods[1], nodes)
        # Each leaves another node; what their leaving changes is no matter of where they go.
        others = np.ones(len(nodes), dtype=np.bool_)
        others[[source, int(snapshot.pod_node[pods[1]])]] = False
        if others.any():
            first[source] = second[source] + float(np.median(first[others] - second[others]))
    return first


def _changes(bindings: Sequence[Binding], pod: int, nodes: npt.NDArray[np.int32]) -> FloatArray:
    total = np.zeros(len(nodes))
    for binding in bindings:
        if binding.term is not None:
            total += binding.policy.weight * binding.term.deltas(pod, nodes)
    return total


def _steps(costs: FloatArray) -> npt.NDArray[np.uint8] | None:
    best, worst = float(costs.min()), float(costs.max())
    if worst - best <= NOTHING:
        return None
    return np.rint((costs - best) * (STEPS / (worst - best))).astype(np.uint8)

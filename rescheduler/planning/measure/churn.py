"""What pods that come and end by themselves bring to a node, and take from it.

A node that a pod has left is cooler too because another has ended there: that is no gain of the
move, and is taken out of what the node would use without it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray, Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline, NodePods
from rescheduler.model.moves.past_move import mark
from rescheduler.planning.measure.node_values import fresh
from rescheduler.planning.measure.selected_nodes import EVERY_NODE, SelectedNodes

_MOST_LARGEST = 8
"""Pods of a node that are kept one by one."""

_LEAST_SHARE = 0.02
"""The share of all use that a pod listed by itself has at least; the mean stands for the others."""

_DIGITS = 6
"""Of the mark of a UID, which tell the pods of one node apart."""


def arrivals(node: int, since: datetime, but: Collection[str], snapshot: Snapshot) -> IntArray:
    """The pods that came to the node since then, besides those with these UIDs."""
    new = (snapshot.pod_node == node) & (snapshot.pod_came > since.timestamp())
    here = np.flatnonzero(new).tolist()
    pods = [pod for pod in here if snapshot.pods[pod].metadata.uid not in but]
    return np.array(pods, dtype=np.int32)


def pods_then(
    values: FloatArray, nodes: Mapping[str, int], but: Collection[str], snapshot: Snapshot
) -> dict[str, NodePods]:
    """What the pods of each node use now, besides those with these UIDs.

    values: (pods,) of a reading, NaN is absent. nodes: index of each by name. A pod that has not
    started yet comes later.
    """
    names = {index: name for name, index in nodes.items()}
    wanted = np.isin(snapshot.pod_node, np.array(list(names), dtype=np.int32))
    there: dict[int, list[int]] = defaultdict(list)
    for pod in np.flatnonzero(wanted).tolist():
        pod_object = snapshot.pods[pod]
        starting = pod_object.status.phase == "Pending" and pod_object.status.startTime is None
        if pod_object.metadata.uid not in but and not starting:
            there[int(snapshot.pod_node[pod])].append(pod)
    return {names[node]: _node_pods(pods, values, snapshot) for node, pods in there.items()}


def _node_pods(pods: list[int], values: FloatArray, snapshot: Snapshot) -> NodePods:
    use = {pod: float(value) for pod, value in zip(pods, np.nan_to_num(values[pods]), strict=True)}
    whole = sum(use.values())
    most = sorted(use, key=lambda pod: -use[pod])[:_MOST_LARGEST]
    largest = [pod for pod in most if use[pod] > 0 and use[pod] >= _LEAST_SHARE * whole]
    rest = [use[pod] for pod in pods if pod not in largest]
    marks = {_mark(snapshot.pods[pod].metadata.uid): _short(use[pod]) for pod in largest}
    return NodePods(marks, _short(sum(rest)), len(pods) - len(marks))


def ended_usage(
    then: NodePods, node: int, since: datetime, moved: Iterable[tuple[str, float]], snap: Snapshot
) -> float:
    """What the pods used then that are on the node no more, and that we did not move.

    moved: UID and use of each that we did. Of the others that were not kept one by one each counts
    as their mean.
    """
    there = (snap.pod_node == node) & (snap.pod_came <= since.timestamp())
    old = [_mark(snap.pods[pod].metadata.uid) for pod in np.flatnonzero(there).tolist()]
    gone = {key: use for key, use in then.largest.items() if key not in old}
    rest, count = then.rest, then.count
    for uid, used in moved:
        if _mark(uid) in then.largest:
            gone.pop(_mark(uid), None)
        else:
            rest, count = rest - used, count - 1
    fewer = count - sum(key not in then.largest for key in old)
    share = min(max(fewer / count, 0.0), 1.0) if count > 0 else 0.0
    return sum(gone.values()) + max(rest, 0.0) * share


def unseen_usage(pods: IntArray, reading: Reading, snapshot: Snapshot) -> float:
    """What these pods use that the window has not seen yet.

    As much of what they replaced may still be in the window of their node. reading: of pods.
    """
    ages = snapshot.taken.timestamp() - snapshot.pod_came[pods] - reading.ages[pods]
    seen = np.clip(ages / reading.request.window, 0.0, 1.0)
    return float(np.nansum(fresh(reading)[pods] * (1.0 / np.where(seen > 0, seen, np.nan) - 1.0)))


def fewer_elsewhere(
    then: Baseline,
    pods: Mapping[str, NodePods],
    besides: Collection[int],
    selected: SelectedNodes,
    snapshot: Snapshot,
) -> float:
    """By what share a selected node has fewer pods than then, in the mean; below 0: it has more.

    Younger nodes do not count, as they do not for how load has changed. besides: indices of nodes
    that do not count. pods: what these had then, as far as it is known.
    """
    theirs = selected.chosen & (snapshot.node_made <= then.at.timestamp())
    names = {node: snapshot.nodes[node].metadata.name for node in besides}
    out = [node for node, name in names.items() if name in pods and theirs[node]]
    theirs[out] = False
    totals = then if selected.key == EVERY_NODE else then.selected.get(selected.key)
    placed, nodes = (0, 0) if totals is None else totals.placed
    placed, nodes = placed - sum(pods[names[node]].pods for node in out), nodes - len(out)
    if placed <= 0 or nodes <= 0 or not theirs.any():
        return 0.0
    return 1.0 - float(snapshot.pods_on[theirs].mean()) * nodes / placed


def parts(value: float, pods: Sequence[str], used: Sequence[float]) -> dict[str, float]:
    """Pod to its part of a device's value: what it adds, or an equal one, if that is not known."""
    shares = used if len(used) == len(pods) else [value / max(len(pods), 1)] * len(pods)
    return dict(zip(pods, shares, strict=True))


def by_itself(then: float, trend: float, came: float, gone: float, fewer: float) -> float:
    """What load would be now that nobody moves: of the pods that stayed, and those that came.

    trend: how the load of another node has changed in the mean. fewer: the share by which it has
    fewer pods, which is part of that; what is left of it is how pods that stay change.
    """
    stay = trend + min(max(fewer, 0.0), 1.0 - trend) if trend < 1 else trend
    stay = trend - min(max(-fewer, 0.0), trend - 1.0) if trend > 1 else stay
    return (then - gone) * stay + came


def _mark(uid: str) -> str:
    return mark(uid)[:_DIGITS]


def _short(value: float) -> float:
    return float(f"{value:.3g}")

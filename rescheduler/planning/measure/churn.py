"""What pods that come and end by themselves bring to a node, and take from it.

A node that a pod has left is cooler too because another has ended there: that is no gain of the
move, and is taken out of what the node would use without it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

import numpy as np

from rescheduler.kube.objects import Pod
from rescheduler.model.gains import NodePods
from rescheduler.model.history import mark
from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.model.snapshot import Snapshot

_MOST_LARGEST = 8
"""Pods of a node that are kept one by one."""

_LEAST_SHARE = 0.02
"""Of what all of them use, what such a pod uses at least; the others are told by their mean."""

_EVER = datetime.min.replace(tzinfo=UTC)


def came(pod: Pod) -> datetime:
    """When it came to its node; a pod may have waited for one since it was made."""
    return max(
        (at for at in (pod.metadata.creationTimestamp, pod.status.startTime) if at), default=_EVER
    )


def arrivals(node: int, since: datetime, but: Collection[str], snapshot: Snapshot) -> IntArray:
    """The pods that came to the node since then, besides those with these UIDs."""
    here = np.flatnonzero(snapshot.pod_node == node).tolist()
    theirs = ((pod, snapshot.pods[pod]) for pod in here)
    found = [n for n, pod in theirs if came(pod) > since and pod.metadata.uid not in but]
    return np.array(found, dtype=np.int32)


def pods_then(
    values: FloatArray, nodes: Mapping[str, int], but: Collection[str], snapshot: Snapshot
) -> dict[str, NodePods]:
    """What the pods of each node use now, besides those with these UIDs.

    values: (pods,) of a reading, NaN is absent. nodes: index of each by name.
    """
    names = {index: name for name, index in nodes.items()}
    wanted = np.isin(snapshot.pod_node, np.array(list(names), dtype=np.int32))
    there: dict[int, list[int]] = defaultdict(list)
    for pod in np.flatnonzero(wanted).tolist():
        if snapshot.pods[pod].metadata.uid not in but:
            there[int(snapshot.pod_node[pod])].append(pod)
    return {names[node]: _kept(pods, values, snapshot) for node, pods in there.items()}


def _kept(pods: list[int], values: FloatArray, snapshot: Snapshot) -> NodePods:
    use = {pod: float(value) for pod, value in zip(pods, np.nan_to_num(values[pods]), strict=True)}
    whole = sum(use.values())
    most = sorted(use, key=lambda pod: -use[pod])[:_MOST_LARGEST]
    largest = [pod for pod in most if use[pod] > 0 and use[pod] >= _LEAST_SHARE * whole]
    rest = [use[pod] for pod in pods if pod not in largest]
    marks = {_mark(snapshot.pods[pod].metadata.uid): _short(use[pod]) for pod in largest}
    return NodePods(marks, _short(sum(rest)), len(rest))


def ended(
    then: NodePods, node: int, since: datetime, moved: Iterable[tuple[str, float]], snap: Snapshot
) -> float:
    """What the pods used then that are on the node no more, and that we did not move.

    moved: UID and use of each that we did. Of the others that were not kept one by one each counts
    as their mean.
    """
    here = [snap.pods[pod] for pod in np.flatnonzero(snap.pod_node == node).tolist()]
    old = [_mark(pod.metadata.uid) for pod in here if came(pod) <= since]
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


def by_itself(then: float, trend: float, came_since: float, ended_since: float) -> float:
    """What load would be now that nobody moves: as others changed, with what came and what ended.

    Where others show a change of the same sign, pods came or ended there too: then the larger of
    both changes is all of it.
    """
    change, churn = then * (trend - 1.0), came_since - ended_since
    if change > 0 and churn > 0:
        return then + max(change, churn)
    if change < 0 and churn < 0:
        return then + min(change, churn)
    return then + change + churn


def _mark(uid: str) -> str:
    """Of few pods, four digits tell them apart."""
    return mark(uid)[:4]


def _short(value: float) -> float:
    return float(f"{value:.3g}")

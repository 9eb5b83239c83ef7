"""How far above its own past a node reads right before a batch.

A node is left because it reads high, so that what it reads right then is a peak more often than
not, and is lower later without any move. Where a policy has `stableFor` the past is known. What the
node reads now is never raised: load that ended since is no reason to expect it back.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rescheduler.model.cluster.readings import DeviceValue, FloatArray, instants
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.planning.measure.node_values import fresh, pods_of, usable
from rescheduler.planning.measure.selected_nodes import SelectedNodes
from rescheduler.policies.base import Policy

_HIGHEST = 10.0
"""A past value above is none, as policies see it."""

_PEAK = 0.99
"""A node that reads at least this share of it otherwise is in no peak."""


class Past:
    """The past of one reading, as it would be if all had risen before that has risen since.

    Where one of the policies asks for none, nothing is in a peak: a step of load may be new to it.
    """

    def __init__(
        self, key: str, wanted: Sequence[Policy], moved: Iterable[int], snapshot: Snapshot
    ) -> None:
        """wanted: the policies that want the moves. moved: nodes that moves leave or touched."""
        self._snapshot = snapshot
        mine = [(r, policy) for policy in wanted for r in policy.requests() if r.key == key]
        shortest = min(
            (request for request, _ in mine), key=lambda request: request.span, default=None
        )
        reading = None if shortest is None else snapshot.readings.find(shortest)
        self._reading = reading if reading is not None and usable(reading, snapshot) else None
        self._samples: FloatArray = np.empty((0, len(snapshot.nodes)))
        self._ago, self._drift = np.empty(0), np.empty(0)
        if self._reading is not None and self._reading.range_samples is not None:
            self._samples = _in_range(self._reading.range_samples)
            self._ago = instants(self._reading.request.span)
            others = np.zeros(len(snapshot.nodes), dtype=np.bool_)
            for _, policy in mine:
                others |= SelectedNodes.of_policy(policy, snapshot).chosen
            others[list(moved)] = False
            self._drift = _drift(self._samples[:, others])

    def peaks(self, nodes: Mapping[str, int], values: FloatArray) -> dict[str, float]:
        """Of the nodes that are in a peak, what share of their value they read otherwise.

        nodes: those in question, index by name. values: (nodes,) what all read now.
        """
        answer: dict[str, float] = {}
        for name, node in nodes.items() if len(self._ago) else ():
            now = float(values[node])
            usual = _median(self._samples[:, node] * self._drift + self._young(node))
            if now > 0 and usual < _PEAK * now:
                answer[name] = float(f"{usual / now:.3g}")
        return answer

    def device(self, device: DeviceValue) -> float:
        """What a device reads otherwise, and at most what it reads now.

        One that a pod got meanwhile reads what it reads now.
        """
        past = _in_range(np.array(device.range_samples))
        if not len(past) or len(past) != len(self._ago):
            return device.value
        came = self._snapshot.pod_came[list(device.pods)].max(initial=-np.inf)
        if self._snapshot.taken.timestamp() - came < self._ago[0]:
            return device.value
        return min(device.value, _median(past * self._drift))

    def _young(self, node: int) -> FloatArray:
        """(k,) what pods use now that the windows at these instants have not seen, as a share."""
        reading, snapshot = self._reading, self._snapshot
        pods = None if reading is None else pods_of(reading, snapshot)
        if reading is None or pods is None or reading.capacity is None:
            return np.zeros(len(self._ago))
        here = np.flatnonzero(snapshot.pod_node == node)
        ages = snapshot.taken.timestamp() - snapshot.pod_came[here]
        seen = np.clip((ages[None, :] - self._ago[:, None]) / reading.request.window, 0.0, 1.0)
        used = np.nan_to_num(fresh(pods)[here])
        capacity = float(reading.capacity[node])
        return np.asarray((1.0 - seen) @ used / (capacity if capacity > 0 else np.inf))


def _in_range(samples: FloatArray) -> FloatArray:
    return np.where((samples >= 0) & (samples <= _HIGHEST), samples, np.nan)


def _drift(samples: FloatArray) -> FloatArray:
    """(k,) the sum over nodes now, divided by that at each instant, of those known at both.

    At least 1: a node that stays as it is while others fall is in no peak.
    """
    both = ~np.isnan(samples) & ~np.isnan(samples[-1])
    now = np.where(both, samples[-1], 0.0).sum(axis=1)
    then = np.where(both, samples, 0.0).sum(axis=1)
    drift = np.where(then > 0, now / np.where(then > 0, then, 1.0), 1.0)
    return np.maximum(drift, 1.0)


def _median(samples: FloatArray) -> float:
    """Of those that are known, which a few wild ones do not change; infinite without any."""
    values = samples[~np.isnan(samples)]
    return float(np.median(values)) if len(values) else np.inf

"""What pods use of which a windowed reading has not seen enough yet."""

import numpy as np

from rescheduler.model.readings import BoolArray, FloatArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.shared.demand import Devices, demands

_SHARES = {"pod.cpu": 0.85, "pod.memory": 0.70}
"""What a pod uses of what it asks for, as koordinator's estimator takes it."""


def estimated(snapshot: Snapshot, name: str) -> FloatArray:
    """(pods,) what each may use by its requests, in the reading's unit; 0 for other readings."""
    share = _SHARES.get(name)
    if share is None:
        return np.zeros(len(snapshot.pods))
    found, of_pod = demands(snapshot, Devices(""))
    amounts = [each.cpu / 1000 if name == "pod.cpu" else float(each.memory) for each in found]
    return share * np.array([*amounts, 0.0])[of_pod]


def unseen(snapshot: Snapshot, window: float) -> FloatArray:
    """(pods,) the share of the window, 0 to 1, that lies before the pod runs; 0 if it leaves."""
    share = np.clip(1.0 - snapshot.pod_age / window, 0.0, 1.0)
    return np.where(snapshot.leaving | (snapshot.pod_node < 0), 0.0, share)


def young(expected: BoolArray, known: BoolArray, share: FloatArray) -> BoolArray:
    """(pods,) those that have no value because they are too young for one."""
    return np.asarray(~expected & ~known & (share > 0), dtype=np.bool_)

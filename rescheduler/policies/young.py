"""What pods use of which a windowed reading has not seen enough yet."""

import numpy as np

from rescheduler.model.readings import BoolArray, FloatArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.demand import Devices, demands

_SHARES = {"pod.cpu": 0.85, "pod.memory": 0.70}
"""What a pod uses of what it asks for, as koordinator's estimator takes it."""


def estimated(snapshot: Snapshot, name: str) -> FloatArray:
    """(pods,) what each pod may use by its requests, in the reading's unit; 0 where none tells."""
    share = _SHARES.get(name)
    if share is None:
        return np.zeros(len(snapshot.pods))
    found, of_pod = demands(snapshot, Devices(""))
    amounts = [each.cpu / 1000 if name == "pod.cpu" else float(each.memory) for each in found]
    return share * np.array([*amounts, 0.0])[of_pod]


def unseen(snapshot: Snapshot, window: float) -> FloatArray:
    """(pods,) the share of the window, 0 to 1, that lies before the pod runs; 0 if it leaves."""
    answer = np.zeros(len(snapshot.pods))
    for index, pod in enumerate(snapshot.pods):
        if pod.metadata.deletionTimestamp is not None or not pod.node:
            continue
        started = pod.status.startTime
        age = 0.0 if started is None else (snapshot.taken - started).total_seconds()
        answer[index] = min(max(1.0 - age / window, 0.0), 1.0)
    return answer


def young(expected: BoolArray, known: BoolArray, share: FloatArray) -> BoolArray:
    """(pods,) those that have no value because they are too young for one."""
    return np.asarray(~expected & ~known & (share > 0), dtype=np.bool_)

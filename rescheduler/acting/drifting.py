"""Whether a pod is still the one that was planned for, read right before its eviction."""

from rescheduler.acting.halting import problem
from rescheduler.kube.objects import Pod
from rescheduler.model.plan import PlannedMove
from rescheduler.model.problem import Problem


def drifted(move: PlannedMove, pod: Pod | None, *, broken: bool = False) -> Problem | None:
    """Why the pod, read right before the request, is not the one that was planned for.

    broken: whether its gang is broken up already, so that it need not be Ready any more.
    """
    if pod is None:
        return problem("ACT002")
    if pod.metadata.uid != move.pod.uid:
        return problem("ACT003", f"Its UID is {pod.metadata.uid}.")
    if pod.metadata.deletionTimestamp is not None:
        return problem("ACT002", "It is being deleted.")
    if pod.node != move.source:
        return problem("DRF001", f"It is on node {pod.node or '(none)'}, not {move.source}.")
    if broken:
        return None
    if move.crashLooping:
        if not pod.crash_looping:
            return problem("DRF001", "It does not crash-loop any more, or not just now.")
        return None
    # The API server skips budgets for a pod that is Pending or has ended.
    if pod.status.phase != "Running" or not pod.ready:
        return problem("DRF001", f"Its phase is {pod.status.phase}, Ready: {pod.ready}.")
    return None

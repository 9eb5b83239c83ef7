"""Whether a pod is still the one that was planned for, on a snapshot or read right before."""

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.node_selection import node_affinity
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.eligibility.steerable import names_nodes
from rescheduler.planning.gates.context import PodContext


def drift(move: PlannedMove, pod: Pod | None, *, broken: bool = False) -> Problem | None:
    """ACT002, ACT003 or DRF001: why the pod is not the one that was planned for.

    pod: that has its name now, or its UID; None where there is none.
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


def same_pod(context: PodContext) -> Problem | None:
    """Why the pod, read right before the request, is not the one that was planned for."""
    if context.releases is None:
        return drift(context.move, context.pod, broken=context.broken)
    pod = context.pod
    if pod is None or pod.metadata.uid != context.move.pod.uid or not waits_for_chosen_nodes(pod):
        return problem("DRF001", "It does not wait for a node any more.")
    return None


def waits_for_chosen_nodes(pod: Pod) -> bool:
    """Whether the pod finds no node, and may by the affinity that steering has merged into it.

    One made again without gains nothing by a new try. Pods that name nodes themselves are never
    steered.
    """
    required = node_affinity(pod.spec).requiredDuringSchedulingIgnoredDuringExecution
    return unschedulable(pod) and names_nodes(required)


def unschedulable(pod: Pod) -> bool:
    """Whether the scheduler has tried to place the pod, found no node, and waits for none to free.

    Source: pkg/scheduler/schedule_one.go, handleSchedulingFailure.
    """
    tried = pod.condition("PodScheduled")
    return (
        pod.status.phase == "Pending"
        and not pod.node
        and pod.metadata.deletionTimestamp is None
        and not pod.status.nominatedNodeName
        and tried is not None
        and (tried.status, tried.reason) == ("False", "Unschedulable")
    )

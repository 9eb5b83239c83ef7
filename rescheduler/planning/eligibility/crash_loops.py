"""Whether the node may be why a pod crash-loops, so that a move may help (ELG023)."""

from collections import defaultdict
from functools import cached_property

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.wording import instant


class CrashLoops:
    """The crash-looping pods of one snapshot, and what moves of such pods have brought.

    Where a workload crash-loops on more than one node, its image, its configuration or what it
    depends on is the cause, and another place would not help. Where a pod was moved for it and its
    replacement does not run without restarts, neither would a second move; so a pod that
    crash-loops everywhere is moved once in two days at most.
    """

    def __init__(self, snapshot: Snapshot, history: History) -> None:
        self._snapshot = snapshot
        self._moved: dict[str, list[PastMove]] = defaultdict(list)
        for move in history.recent(snapshot.taken):
            if move.crashLooping and move.charged:
                self._moved[move.workload].append(move)

    @cached_property
    def _nodes(self) -> dict[int, set[str]]:
        """Workload to the names of the nodes on which pods of it crash-loop."""
        nodes: dict[int, set[str]] = defaultdict(set)
        for index, pod in enumerate(self._snapshot.pods):
            if pod.crash_looping and pod.metadata.deletionTimestamp is None:
                nodes[int(self._snapshot.pod_workload[index])].add(pod.node)
        return nodes

    def refusal(self, pod: int) -> Problem | None:
        """ELG023 for a pod that crash-loops, or None; other pods are not checked."""
        pod_object = self._snapshot.pods[pod]
        if not pod_object.crash_looping:
            return None
        index = int(self._snapshot.pod_workload[pod])
        if index < 0:
            return None
        workload = self._snapshot.workloads[index]
        name = f"{workload.kind} {workload.name}"
        others = self._nodes[index] - {pod_object.node}
        if others:
            return Problem(code="ELG023", message=f"{name} crash-loops on node {min(others)} too")
        for move in self._moved[workload.uid]:
            if not self._has_helped(move):
                return Problem(
                    code="ELG023",
                    message=f"{name} had its pod {move.pod} moved for it from node {move.source} "
                    f"at {instant(move.at)}, and the replacement is not known to run without "
                    "restarts",
                )
        return None

    def _has_helped(self, move: PastMove) -> bool:
        index = self._snapshot.pod_index.get(move.replacement)
        return index is not None and _sound(self._snapshot.pods[index])


def _sound(pod: Pod) -> bool:
    statuses = pod.status.containerStatuses or ()
    return pod.ready and not any(status.restartCount for status in statuses)

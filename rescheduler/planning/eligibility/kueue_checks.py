"""Whether Kueue would admit again what is stopped or evicted: ELG029, ELG034, ELG035.

It stops and starts a gang as a whole; other pods, such as those of a Deployment, it admits one by
one, and their replacements are gated until it does. Between the two the quota is free: nothing else
may be waiting for it, and the queue must be able to admit the like again in the same flavors, on
what it owns itself.
"""

from collections import Counter
from functools import cached_property

from rescheduler.kube.gang_marks import KUEUE, WORKLOADS, GangObject, admitted_alone
from rescheduler.kube.kueue import (
    ClusterQueue,
    LocalQueue,
    readmission_obstacle,
    unrepeatable,
    unstoppable,
    waits,
)
from rescheduler.kube.objects import Pod
from rescheduler.kube.selectors import matches
from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text

_KINDS = (WORKLOADS, "ClusterQueue", "LocalQueue")
_COHORTS = "cohorts"


class KueueChecks:
    """Answers for the gangs of one snapshot that Kueue starts and stops."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def refuse_pod(self, pod: Pod) -> Problem | None:
        """Why Kueue might not admit the replacement of this pod, which is of no gang, or None."""
        workload = self._of_pods.get(pod.metadata.uid)
        if workload is None and not admitted_alone(pod):
            return None
        unread = [kind for kind in _KINDS if kind in self._snapshot.unread]
        if workload is None or unread:
            text = f"{unread[0]} was not read" if unread else "it has no Workload"
            return Problem(
                code="ELG029",
                message=f"whether Kueue would admit its replacement is not known: {text}",
            )
        if why := unrepeatable(workload):
            return Problem(code="ELG029", message=why)
        return self._refuse_queue(workload, f"pod {pod.metadata.name}")

    @cached_property
    def _of_pods(self) -> dict[str, GangObject]:
        """UID of each pod that has a Workload of its own to that Workload."""
        return {
            owner.uid: gang_object
            for gang_object in self._snapshot.gang_objects
            if gang_object.group == KUEUE
            and (owner := gang_object.metadata.controller) is not None
            and owner.kind == "Pod"
        }

    def refusal(self, gang: Gang) -> Problem | None:
        """Why this gang cannot be stopped and started as a whole, or None."""
        name = f"gang {gang.name} ({gang.mark})"
        unread = [kind for kind in _KINDS if kind in self._snapshot.unread]
        if unread:
            text = f"whether Kueue would start {name} again is not known: {unread[0]} was not read"
            return Problem(code="ELG029", message=text)
        facts = self._snapshot.gangs.facts(gang)
        workload = facts.workload
        if workload is None:
            text = f"{name} is not exactly what one Workload of Kueue stands for"
            return Problem(code="ELG029", message=text)
        if why := unstoppable(workload):
            return Problem(code="ELG029", message=f"{name}: {why}")
        size = len(facts.members)
        if size != workload.minimum or size < 2:
            text = (
                f"Workload {workload.metadata.name} is for "
                f"{count_text(workload.minimum or 0, 'pod')}"
            )
            return Problem(code="ELG029", message=f"{name}: {text}, and has {size}")
        return self._refuse_queue(workload, name)

    def _refuse_queue(self, workload: GangObject, name: str) -> Problem | None:
        namespace = workload.metadata.namespace
        local = self._locals.get((namespace, workload.spec.queueName or ""))
        admission = workload.status.admission
        queue = None if local is None else self._queues.get(local.spec.clusterQueue)
        if local is None or queue is None or admission is None:
            text = f"the queue of Workload {workload.metadata.name} is not known"
            return Problem(code="ELG035", message=f"{name}: {text}")
        if admission.clusterQueue != queue.metadata.name:
            text = f"LocalQueue {local.metadata.name} leads to another ClusterQueue now"
            return Problem(code="ELG035", message=f"{name}: {text}")
        if not local.takes_workloads:
            text = f"LocalQueue {local.metadata.name} admits nothing"
            return Problem(code="ELG035", message=f"{name}: {text}")
        labels = self._labels.get(namespace)
        if not matches(queue.spec.namespaceSelector, labels):
            text = (
                f"ClusterQueue {queue.metadata.name} does not take namespace {namespace} any more"
            )
            return Problem(code="ELG035", message=f"{name}: {text}")
        rival = self._rivals.get(_pool(queue)) or self._rivals.get("")
        if rival is not None:
            text = f"{rival}, and may take the quota that {name} frees"
            return Problem(code="ELG034", message=text)
        why = readmission_obstacle(workload, queue)
        return Problem(code="ELG035", message=f"{name}: {why}") if why else None

    @cached_property
    def _locals(self) -> dict[tuple[str, str], LocalQueue]:
        queues = self._snapshot.local_queues
        return {(queue.metadata.namespace, queue.metadata.name): queue for queue in queues}

    @cached_property
    def _queues(self) -> dict[str, ClusterQueue]:
        return {queue.metadata.name: queue for queue in self._snapshot.cluster_queues}

    @cached_property
    def _labels(self) -> dict[str, dict[str, str] | None]:
        return {
            namespace.metadata.name: namespace.metadata.labels
            for namespace in self._snapshot.namespaces
        }

    @cached_property
    def _rivals(self) -> dict[str, str]:
        """What waits, or may, by whose quota it may take; "" where that is not known.

        Cohorts may be parts of others, so that all ClusterQueues in a cohort count as one. What
        Kueue does not admit as its queues are takes nothing.
        """
        answer: dict[str, str] = {}
        hopeless = Counter[str]()
        for bad in self._snapshot.undecodable:
            if bad.kind == WORKLOADS:
                answer.setdefault("", f"Workload {bad.namespace}/{bad.name} cannot be decoded")
        for gang_object in self._snapshot.gang_objects:
            if gang_object.group == KUEUE and waits(gang_object):
                pool = self._pool_of(gang_object, hopeless)
                if pool is not None:
                    text = (
                        "Workload "
                        f"{gang_object.metadata.namespace}/{gang_object.metadata.name} waits"
                    )
                    answer.setdefault(pool, text)
        for queue in self._snapshot.cluster_queues:
            waiting = queue.status.pendingWorkloads - hopeless[queue.metadata.name]
            if waiting > 0 and queue.takes_workloads:
                text = f"ClusterQueue {queue.metadata.name} has {count_text(waiting, 'Workload')}"
                answer.setdefault(_pool(queue), f"{text} pending")
        return answer

    def _pool_of(self, workload: GangObject, hopeless: Counter[str]) -> str | None:
        """Whose quota a Workload that waits may take, "" where that is not known; None: nobody's.

        hopeless: counts, by ClusterQueue, those that wait in one that does not take them.
        """
        namespace, name = workload.metadata.namespace, workload.spec.queueName or ""
        local = self._locals.get((namespace, name))
        queue = None if local is None else self._queues.get(local.spec.clusterQueue)
        if local is None or queue is None:
            return "" if self._unclear(namespace, name, local) else None
        if not local.takes_workloads:
            return None
        if self._takes(queue, namespace):
            return _pool(queue)
        hopeless[queue.metadata.name] += 1
        return None

    def _takes(self, queue: ClusterQueue, namespace: str) -> bool:
        """Whether it may admit Workloads of the namespace, whose labels may not have been read."""
        if namespace not in self._labels:
            return queue.takes_workloads
        return queue.takes(self._labels[namespace])

    def _unclear(self, namespace: str, name: str, local: LocalQueue | None) -> bool:
        """Whether a queue that is missing is one that could not be decoded."""
        wanted = ("LocalQueue", namespace, name)
        if local is not None:
            wanted = ("ClusterQueue", "", local.spec.clusterQueue)
        return any(
            undecodable.kind == wanted[0]
            and (undecodable.namespace, undecodable.name) in (wanted[1:], ("", ""))
            for undecodable in self._snapshot.undecodable
        )


def _pool(queue: ClusterQueue) -> str:
    return _COHORTS if queue.cohort else f"/{queue.metadata.name}"

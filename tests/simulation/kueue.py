"""Kueue in the simulated cluster: it starts and stops Jobs by their Workloads, in its own time.

It does what `tests/e2e/every_kueue.py` shows of the real one; its queues admit by the number of
pods. Beside it are people and other Jobs, who delete, stop and change Workloads, and take quota.
"""

import copy
import random
from collections import Counter
from collections.abc import Callable

from rescheduler.kube.gang_marks import QUEUE
from tests.fakes import kueue
from tests.simulation.cluster import SimCluster
from tests.simulation.objects import Object, leaving, owner_uid, uid_of

_RETRY = 15.0
_RIVAL = "rival"


class Kueue:
    """Delays in seconds: `sees` (what was deleted or evicted), `queues` (again), `admits`.

    patient: whether a Job is queued again only when its last pod is gone. refuses: whether nothing
    is admitted. quota: pods of each ClusterQueue. stopping: the UIDs of all pods whose Workload was
    deleted, by whomever. mine: told of each Workload that is deleted by a request of ours.
    """

    def __init__(self, cluster: SimCluster, chance: random.Random, reached: Counter[str]) -> None:
        self.cluster = cluster
        self.chance = chance
        self.reached = reached
        self.sees = chance.choice([0.2, 0.2, 2.0, 20.0, 150.0])
        self.queues = chance.choice([0.2, 1.0, 10.0])
        self.admits = chance.choice([0.2, 0.2, 5.0, 30.0])
        self.patient = chance.random() < 0.5
        self.refuses = False
        self.quota: Counter[str] = Counter()
        self.stopping: set[str] = set()
        self.gangs: list[str] = []
        self.mine: Callable[[Object, list[Object]], None] = lambda *_: None
        self._rivals = 0
        cluster.kueue.on_stop = self._stopped_by_us

    # --- what is there

    def add(self, app: str, nodes: list[str], queue: str, *, cpu: float) -> None:
        """An Indexed Job that was admitted, with a pod on each of these nodes."""
        job = self.cluster.add_workload("Job", app, nodes, cpu=cpu)
        self._enqueue(job, queue)
        self.quota[queue] += len(nodes)
        self._workload(job, admitted=True)
        self.gangs.append(app)
        self._account()

    def _enqueue(self, job: Object, queue: str) -> None:
        size = job["spec"]["parallelism"]
        job["spec"] |= {"completions": size, "completionMode": "Indexed"}
        job["metadata"]["labels"] = {QUEUE: queue}
        cluster_queue, local = kueue.queue(total="0", quota="0", name=queue)
        for key, body in (
            (("clusterqueues", "", queue), cluster_queue),
            (("localqueues", "default", queue), local),
        ):
            if key not in self.cluster.objects:
                self.cluster.put(*key, body)

    def _workload(self, job: Object, *, admitted: bool = False) -> Object:
        name, size = job["metadata"]["name"], job["spec"]["parallelism"]
        made = kueue.workload(name, uid_of(job), pods=size)
        made["spec"]["queueName"] = job["metadata"]["labels"][QUEUE]
        stored = self.cluster.put("workloads", "default", made["metadata"]["name"], made)
        stored["status"] = {}
        if admitted:
            self._admit(stored)
        self._account()
        return stored

    def _job(self, workload: Object) -> Object | None:
        jobs = self.cluster.of("jobs")
        return next((job for job in jobs if uid_of(job) == owner_uid(workload)), None)

    def of(self, app: str) -> Object | None:
        """The Workload of this Job, where there is one."""
        return next(
            (workload for workload in self.cluster.of("workloads") if _app(workload) == app), None
        )

    def runs(self, app: str) -> bool:
        """Whether it starts and stops the pods of this Job as a gang."""
        job = self.cluster.objects.get(("jobs", "default", app))
        queued = job is not None and QUEUE in (job["metadata"].get("labels") or {})
        return job is not None and queued and job["spec"]["parallelism"] > 1

    def pods(self, workload: Object) -> list[Object]:
        """The pods that run for it."""
        job = self._job(workload)
        return [] if job is None else [p for p in self.cluster.owned(job) if not leaving(p)]

    # --- what it does

    def _stopped_by_us(self, workload: Object) -> None:
        self.mine(workload, self.pods(workload))
        self._deleted(workload)

    def _deleted(self, workload: Object) -> None:
        self.stopping |= {uid_of(pod) for pod in self.pods(workload)}
        uid = uid_of(workload)
        self.cluster.timeline.after(self.sees, lambda: self._release(uid))

    def _by_uid(self, uid: str) -> Object | None:
        return next((e for e in self.cluster.of("workloads") if uid_of(e) == uid), None)

    def _release(self, uid: str) -> None:
        """Suspend the Job of a Workload that was deleted, and let that go."""
        workload = self._by_uid(uid)
        if workload is None:
            return
        job = self._job(workload)
        del self.cluster.objects["workloads", "default", workload["metadata"]["name"]]
        if job is not None:
            self._suspend(job)
            self.cluster.timeline.after(self.queues, lambda: self._anew(uid_of(job)))
        self._account()

    def _suspend(self, job: Object) -> None:
        job["spec"]["suspend"] = True
        self.cluster.bump(job)
        for pod in self.cluster.owned(job):
            self.cluster.delete(pod)

    def _anew(self, job_uid: str) -> None:
        """Queue a Job whose Workload is gone, once it is not active any more."""
        job = next(
            (job_object for job_object in self.cluster.of("jobs") if uid_of(job_object) == job_uid),
            None,
        )
        if job is None or self.of(job["metadata"]["name"]) is not None:
            return
        if self.patient and self.cluster.owned(job):
            self.cluster.timeline.after(1.0, lambda: self._anew(job_uid))
            return
        self._decide_later(self._workload(job))

    def _decide_later(self, workload: Object, seconds: float | None = None) -> None:
        uid = uid_of(workload)
        after = self.admits if seconds is None else seconds
        self.cluster.timeline.after(after, lambda: self._decide(uid))

    def _decide(self, uid: str) -> None:
        """Admit a Workload that waits, if there is quota for it."""
        workload = self._by_uid(uid)
        if workload is None or leaving(workload) or not workload["spec"]["active"]:
            return
        if workload["status"].get("admission"):
            return
        queue, wanted = _queue(workload), _size(workload)
        stopped = self.cluster.objects["clusterqueues", "", queue]["spec"].get("stopPolicy")
        if self.refuses or stopped or self._held(queue) + wanted > self.quota[queue]:
            self.reached["admission refused"] += _app(workload) in self.gangs
            self._decide_later(workload, _RETRY)
            return
        self._admit(workload)
        self._account()
        job = self._job(workload)
        if job is not None:
            job["spec"]["suspend"] = False
            self.cluster.bump(job)
            self.cluster.sync_soon()

    def _admit(self, workload: Object) -> None:
        assignments = [{"flavors": {"cpu": "default"}}]
        workload["status"] = {
            "conditions": copy.deepcopy(kueue.ADMITTED),
            "admission": {"clusterQueue": _queue(workload), "podSetAssignments": assignments},
        }
        self.cluster.bump(workload)

    def _held(self, queue: str) -> int:
        return sum(
            _size(workload)
            for workload in self.cluster.of("workloads")
            if _queue(workload) == queue and workload["status"].get("admission")
        )

    def _account(self) -> None:
        """Write how much of each queue is held, and what it has."""
        for cluster_queue in self.cluster.of("clusterqueues"):
            name = cluster_queue["metadata"]["name"]
            (used,) = cluster_queue["status"]["flavorsReservation"]
            used["resources"][0]["total"] = str(self._held(name))
            cluster_queue["status"]["pendingWorkloads"] = sum(
                _queue(w) == name and w["spec"]["active"] and not w["status"].get("admission")
                for w in self.cluster.of("workloads")
            )
            (group,) = cluster_queue["spec"]["resourceGroups"]
            group["flavors"][0]["resources"][0]["nominalQuota"] = str(self.quota[name])
            self.cluster.bump(cluster_queue)

    # --- what others do

    def happen(self) -> None:
        """Something that others do, or undo."""
        self.chance.choice([self.arrive, self.finish, self.meddle, self.refuse, self.hold])()

    def meddle(self) -> None:
        """Somebody does something to the Workload of a gang."""
        workload = self.of(self.chance.choice(self.gangs))
        if workload is not None and not leaving(workload):
            does = self.chance.choice([self.touch, self.preempt, self.deactivate, self.delete])
            self.reached[f"Workload: {does.__name__}"] += 1
            does(workload)

    def touch(self, workload: Object) -> None:
        """A label of it changes."""
        self.cluster.bump(workload)

    def delete(self, workload: Object) -> None:
        """Somebody else deletes it."""
        workload["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
        self.cluster.bump(workload)
        self._deleted(workload)

    def preempt(self, workload: Object) -> None:
        """It loses its quota, and waits for it again."""
        self._evict(workload)
        self._decide_later(workload)

    def deactivate(self, workload: Object) -> None:
        """Somebody stops it until it is started by hand."""
        workload["spec"]["active"] = False
        self._evict(workload)

    def _evict(self, workload: Object) -> None:
        workload["status"] = {"conditions": [{"type": "Evicted", "status": "True"}]}
        self.cluster.bump(workload)
        job = self._job(workload)
        if job is not None:
            self._suspend(job)
        self._account()

    def arrive(self) -> None:
        """Another Job is queued, and may be admitted before what was stopped."""
        self._rivals += 1
        queue = self.chance.choice(sorted(self.quota))
        size = self.chance.choice([1, 1, 2])
        job = self.cluster.add_workload("Job", f"{_RIVAL}{self._rivals}", [], cpu=0.1)
        job["spec"] |= {"parallelism": size, "suspend": True}
        self._enqueue(job, queue)
        self._decide_later(self._workload(job))
        self.cluster.timeline.after(self.chance.choice([60.0, 900.0]), lambda: self._end(job))

    def _end(self, job: Object) -> None:
        name = job["metadata"]["name"]
        for pod in self.cluster.owned(job):
            self.cluster.delete(pod)
        workload = self.of(name)
        if workload is not None:
            del self.cluster.objects["workloads", "default", workload["metadata"]["name"]]
        self.cluster.objects.pop(("jobs", "default", name), None)
        self._account()

    def finish(self) -> None:
        """The other Jobs end; what was stopped by hand is started again."""
        for job in self.cluster.of("jobs"):
            if job["metadata"]["name"].startswith(_RIVAL):
                self._end(job)
        for workload in self.cluster.of("workloads"):
            if not workload["spec"]["active"]:
                workload["spec"]["active"] = True
                self.cluster.bump(workload)
                self._decide_later(workload)

    def refuse(self) -> None:
        """Nothing is admitted any more, or things are again; or our right is taken away."""
        self.refuses = self.chance.random() < 0.4
        self.cluster.kueue.may = self.chance.random() < 0.8

    def hold(self) -> None:
        """A queue is stopped, or loses quota, or has all of it."""
        cluster_queue = self.chance.choice(self.cluster.of("clusterqueues"))
        name = cluster_queue["metadata"]["name"]
        cluster_queue["spec"]["stopPolicy"] = self.chance.choice(["", "", "Hold"])
        cut = self.chance.choice([0, 0, 1])
        self.quota[name] = (
            sum(_size(w) for w in self.cluster.of("workloads") if _queue(w) == name) - cut
        )
        self._account()

    def heal(self) -> None:
        """What others did is undone; what waits gets its quota."""
        self.refuses, self.cluster.kueue.may = False, True
        self.sees, self.queues, self.admits = 0.2, 0.2, 0.2
        self.finish()
        for cluster_queue in self.cluster.of("clusterqueues"):
            cluster_queue["spec"]["stopPolicy"] = ""
            self.quota[cluster_queue["metadata"]["name"]] = 100
        self._account()


def _app(workload: Object) -> str:
    return str(workload["metadata"]["ownerReferences"][0]["name"])


def _queue(workload: Object) -> str:
    return str(workload["spec"]["queueName"])


def _size(workload: Object) -> int:
    return int(workload["spec"]["podSets"][0]["count"])

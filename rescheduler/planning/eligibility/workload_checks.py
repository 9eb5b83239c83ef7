"""Whether a pod's workload is stable, our own recent moves included."""

from collections import Counter
from datetime import timedelta
from functools import cached_property

import numpy as np

from rescheduler.kube.controllers import HorizontalPodAutoscaler
from rescheduler.kube.job_failures import ignores_eviction
from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.cluster.workload import Workload
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, instant, verb_for
from rescheduler.planning.eligibility.back_off import BackOff
from rescheduler.planning.eligibility.owner_checks import OwnerChecks
from rescheduler.policies.limits import Limits

_SCALED_KINDS = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_SCALE_QUIET = timedelta(minutes=5)


class Surroundings:
    """The workloads, autoscalers and recent moves of one snapshot, by pod."""

    def __init__(self, snapshot: Snapshot, limits: Limits, history: History, plan: str) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._history = history
        self._owners = OwnerChecks(snapshot, limits)
        self._back_off = BackOff(snapshot, limits, history, plan)
        self._controllers = {
            controller.metadata.uid: controller for controller in snapshot.controllers
        }
        self._autoscalers: dict[tuple[str, str, str], list[HorizontalPodAutoscaler]] = {}
        for autoscaler in snapshot.autoscalers:
            target = autoscaler.spec.scaleTargetRef
            key = target.kind, autoscaler.metadata.namespace, target.name
            self._autoscalers.setdefault(key, []).append(autoscaler)
        self._ready = Counter(
            int(workload)
            for pod, workload in zip(snapshot.pods, snapshot.pod_workload, strict=True)
            if workload >= 0 and pod.ready and pod.metadata.deletionTimestamp is None
        )
        self._moved = {move.podUid: move for move in history.moves if move.charged}
        self._verdicts: dict[tuple[int, bool, bool], Problem | None] = {}

    def refuse_node(self, name: str) -> Problem | None:
        """ELG025: whether replacements that came to this node have gone wrong again and again."""
        return self._back_off.refuse_node(name)

    def ready(self, workload: int) -> int:
        """Ready pods of a workload: the fewer of what we see and what its owner counts."""
        seen, reported = self._ready[workload], self._snapshot.workloads[workload].ready
        return seen if reported is None else min(seen, reported)

    @cached_property
    def moved(self) -> IntArray:
        """(k,) the pods that `refuse_moved` refuses."""
        pods = (self._snapshot.pod_index.get(uid) for uid in self._moved)
        return np.array([pod for pod in pods if pod is not None], dtype=np.int32)

    def refuse_moved(self, uid: str) -> Problem | None:
        """ELG022 for the pod itself: its eviction was requested before."""
        move = self._moved.get(uid)
        if move is None:
            return None
        return Problem(code="ELG022", message=f"its eviction was requested at {instant(move.at)}")

    def refuse_owners(self, workload: Workload) -> Problem | None:
        """ELG015, ELG036: whether an owner is being deleted, or is of a kind that is not read."""
        return self._owners.refuse_above(workload)

    def unread_owners(self) -> Counter[str]:
        """How many pods are left alone for an owner that is not read (ELG036), by its kind."""
        pods = Counter(self._snapshot.pod_workload.tolist())
        counts = Counter[str]()
        for index, workload in enumerate(self._snapshot.workloads):
            if not self._limits.protects(workload.namespace):
                counts.update({self._owners.unread_kind(workload): pods[index]})
        del counts[""]
        return counts

    def refuse_workload(
        self, workload: int, *, crash_looping: bool = False, suspended: bool = False
    ) -> Problem | None:
        """ELG012-ELG015, ELG022, ELG024, ELG036: whether it can be followed and is stable.

        crash_looping: whether the pod crash-loops, and so is none of the Ready ones. suspended:
        whether its Job is suspended for it, which counts no pod as a failure: the Job controller
        takes its finalizer off first. Source: deleteJobPods in
        pkg/controller/job/job_controller.go.
        """
        key = (workload, crash_looping, suspended)
        if key not in self._verdicts:
            workload_object = self._snapshot.workloads[workload]
            self._verdicts[key] = self._evaluate(
                workload, workload_object, crash_looping=crash_looping, suspended=suspended
            )
        return self._verdicts[key]

    def _evaluate(
        self, index: int, workload: Workload, *, crash_looping: bool, suspended: bool
    ) -> Problem | None:
        return (
            self._owners.refusal(workload)
            or (None if suspended else self._refuse_job(index, workload))
            or self._refuse_moving(workload)
            or self._refuse_in_flight(workload)
            or (None if crash_looping else self._refuse_missing(index, workload))
            or (None if crash_looping else self._refuse_few(index, workload))
            or self._back_off.refuse_workload(workload)
        )

    def _refuse_job(self, index: int, workload: Workload) -> Problem | None:
        if workload.controller_kind != "Job" or self._limits.jobs == "Allow":
            return None
        policy = self._controllers[workload.controller_uid].spec.podFailurePolicy
        pods = np.flatnonzero(self._snapshot.pod_workload == index).tolist() if policy else []
        if pods and all(ignores_eviction(policy, self._snapshot.pods[pod]) for pod in pods):
            return None
        return Problem(
            code="ELG014", message=f"Job {workload.name} would count the eviction as a failure"
        )

    def _refuse_moving(self, workload: Workload) -> Problem | None:
        name = f"{workload.kind} {workload.name}"
        if workload.rolling:
            return Problem(code="ELG013", message=f"{name} is rolling out")
        top = self._controllers[workload.uid]
        if top.kind in _SCALED_KINDS and top.status.replicas != top.wanted:
            return Problem(
                code="ELG013",
                message=f"{name} wants {count_text(top.wanted, 'pod')} "
                f"and has {top.status.replicas}",
            )
        return self._owners.refuse_rollout(workload) or self._refuse_autoscaled(workload)

    def _refuse_autoscaled(self, workload: Workload) -> Problem | None:
        if not self._autoscalers:
            return None
        scaled = (
            self._refuse_scaled(autoscaler)
            for kind, owner in self._owners.names(workload)
            for autoscaler in self._autoscalers.get((kind, workload.namespace, owner), ())
        )
        return next(filter(None, scaled), None)

    def _refuse_scaled(self, scaler: HorizontalPodAutoscaler) -> Problem | None:
        status = scaler.status
        if scaler.scaling:
            return Problem(
                code="ELG013",
                message=f"its autoscaler {scaler.metadata.name} goes from "
                f"{status.currentReplicas or 0} to {count_text(status.desiredReplicas, 'pod')}",
            )
        if status.lastScaleTime and self._snapshot.taken - status.lastScaleTime < _SCALE_QUIET:
            return Problem(
                code="ELG013",
                message=f"its autoscaler {scaler.metadata.name} scaled it at "
                f"{instant(status.lastScaleTime)}",
            )
        return None

    def _refuse_missing(self, index: int, workload: Workload) -> Problem | None:
        """ELG024: a pod that is Ready is not taken from a workload that lacks another already.

        Where `inFlightPerWorkload` is above 1, replacements of our own moves may be what it lacks.
        """
        ready, wanted = self.ready(index), workload.replicas
        if wanted is None or ready + self._count_pending(workload) >= wanted:
            return None
        name = f"{workload.kind} {workload.name}"
        return Problem(code="ELG024", message=f"{name} has {ready} Ready of {wanted} wanted")

    def _count_pending(self, workload: Workload) -> int:
        """How many of its pods we evicted ourselves of late, and await.

        A pod whose eviction may have failed, as it is still Ready, is not missing.
        """
        evicted = (
            self._snapshot.pod_index.get(move.podUid)
            for move in self._history.moves
            if move.workload == workload.uid
            and move.in_flight
            and move.readySince is None
            and not move.crashLooping
        )
        pods = self._snapshot.pods
        return sum(
            pod is None or pods[pod].metadata.deletionTimestamp is not None for pod in evicted
        )

    def _refuse_few(self, index: int, workload: Workload) -> Problem | None:
        if workload.controller_kind == "Job":
            return None
        ready, least = self.ready(index), self._limits.minReplicas
        if ready < least:
            name = f"{workload.kind} {workload.name}"
            return Problem(
                code="ELG012", message=f"{name} has {ready} Ready of at least {least} (minReplicas)"
            )
        return None

    def _refuse_in_flight(self, workload: Workload) -> Problem | None:
        in_flight = self._history.in_flight(workload.uid)
        if in_flight < self._limits.inFlightPerWorkload:
            return None
        what = f"{count_text(in_flight, 'replacement')} of {workload.kind} {workload.name}"
        return Problem(code="ELG022", message=f"{what} {verb_for(in_flight, 'is', 'are')} pending")

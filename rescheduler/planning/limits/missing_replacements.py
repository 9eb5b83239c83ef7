"""Workloads that lack a replacement of a pod that we evicted; their holds follow from it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from rescheduler.kube.controllers import Controller, Owner
from rescheduler.kube.gang_marks import KUEUE
from rescheduler.kube.kueue import JOBSETS, holds, made_names
from rescheduler.kube.objects import ObjectMeta, OwnerReference, Pod
from rescheduler.kube.pods.pod_state import grace, grace_of
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import LOOK_BACK, History
from rescheduler.model.moves.past_move import STAYS, PastMove
from rescheduler.model.wording import count_text, instant
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.opt_outs import refuse_opt_out
from rescheduler.planning.limits.owner_causes import Causes
from rescheduler.planning.limits.tenants import Tenants
from rescheduler.policies.limits import Limits

_WAITING = frozenset({"StatefulSet", "Job"})
"""Controllers that replace a pod once it is gone; others do while it ends."""
_COUNTING = frozenset({"ReplicaSet"})
"""Controllers below others that count their Ready pods."""
_LONGEST_REASON = 200
"""Characters of a controller's own message that are shown."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A workload that lacks what was evicted from it.

    move: the first of its late moves. moves: how many there are. said: what its owner has and
    wants, and the owner's own reason. until: when the moves are too old to hold anything; None
    while one is still awaited. cause: what has to happen for it to be missing no more. own: whether
    it is so by its owner's own doing, and tells nothing of the cluster.
    """

    move: PastMove
    moves: tuple[PastMove, ...]
    said: str
    until: datetime | None
    cause: str
    own: bool = False

    @property
    def sentence(self) -> str:
        """Which pod was evicted, and what its owner lacks since."""
        move = self.move
        by = f" with Workload {move.stops} of Kueue" if move.stops else ""
        name = f"pod {move.namespace}/{move.pod}"
        return f"{name} was evicted{by} at {instant(move.at)}, and {self.said}"


def missing_replacements(
    snapshot: Snapshot,
    eligibility: Eligibility,
    limits: Limits,
    history: History,
    causes: Causes,
) -> list[Missing]:
    """Every workload that still lacks what we took from it, and has not opted out.

    So is one whose evicted pod does not go, though it lacks nothing.

    A replacement is late `readyTimeout` after the eviction; where its controller waits until the
    evicted pod is gone, after that, or after it should be: a pod that takes its grace period to end
    keeps the slot of its own workload, and nobody else waits for it.
    What its owner wants counts, whether there is a pod of it or none; of a Job that Kueue has
    suspended for our sake what it wants once it has its quota again. Such a Job that is gone is
    missed while its JobSet is there, which creates it again, or while that was not read. Of a move
    whose pods could not be read a pod that cannot be decoded may be the one that is missing.
    """
    late = _late(snapshot, limits, history)
    lacking = (
        list(_lacking_workloads(snapshot, eligibility, limits, history, late, causes))
        if late
        else []
    )
    workloads = {missing_workload.move.workload for missing_workload in lacking}
    return [*lacking, *_staying_pods(snapshot, limits, history, workloads, causes)]


def _staying_pods(
    snapshot: Snapshot, limits: Limits, history: History, workloads: set[str], causes: Causes
) -> Iterator[Missing]:
    """Of each other workload the first evicted pod that does not go."""
    in_flight = (move for move in history.moves if move.in_flight and not move.forgiven)
    stays = [move for move in in_flight if move.code == STAYS]
    out = _OptedOut(snapshot, limits) if stays else None
    owners = {owner.metadata.uid: owner for owner in snapshot.controllers} if stays else {}
    for move in stays:
        owner = owners.get(move.workload)
        if move.podUid not in snapshot.pod_index or move.workload in workloads or owner is None:
            continue
        if out is not None and not out.covers(move.namespace, owner.metadata):
            workloads.add(move.workload)
            own = causes.keeps(move.podUid)
            yield Missing(move, (move,), "it does not go", None, "it is gone", own)


def _late(snapshot: Snapshot, limits: Limits, history: History) -> dict[str, list[PastMove]]:
    """The late moves of each workload, by its UID."""
    late: dict[str, list[PastMove]] = {}
    leaving = _Leaving(snapshot)
    for move in history.recent(snapshot.taken):
        overdue = move.in_flight and leaving.gone_at(move) + limits.readyTimeout < snapshot.taken
        untouched = move.state == "intended" or move.no_effect
        stayed = untouched and move.podUid in snapshot.pod_index
        skipped = move.no_worse or move.forgiven or stayed
        if (move.state == "lost" or overdue) and not skipped:
            late.setdefault(move.workload, []).append(move)
    return late


def _lacking_workloads(
    snapshot: Snapshot,
    eligibility: Eligibility,
    limits: Limits,
    history: History,
    late: dict[str, list[PastMove]],
    causes: Causes,
) -> Iterator[Missing]:
    stopped = {uid for uid, moves in late.items() if any(move.stops for move in moves)}
    owners = {owner.metadata.uid: owner for owner in snapshot.controllers}
    ready, out = _Ready(snapshot, eligibility, late), _OptedOut(snapshot, limits)
    for uid, owner in owners.items():
        if uid not in late or out.covers(late[uid][0].namespace, owner.metadata):
            continue
        if _replaced_by_makers(late[uid], owner, owners):
            continue
        wanted = owner.resumed if uid in stopped else owner.wanted
        if not ready.has_enough(uid, wanted, late[uid][0].namespace):
            said = (
                f"{owner.kind} {owner.metadata.name} has {ready.ready_count(uid)} Ready of {wanted}"
            )
            maker = owners.get(late[uid][0].controller)
            missing = _missing_workload(
                late[uid], said + (_own_reason(owner) or _own_reason(maker))
            )
            yield replace(missing, own=causes.is_self_inflicted(late[uid], owner, maker))
    reported: set[str] = set()
    for uid in sorted(stopped - owners.keys()):
        move = late[uid][0]
        if "JobSet" in snapshot.unread and move.stops.startswith("jobset-"):
            if move.stopsUid not in reported:
                reported.add(move.stopsUid)
                yield _missing_workload(
                    late[uid], "its Job is gone, and JobSet was not read", "it is"
                )
            continue
        jobset = None if move.stopsUid in reported else _jobset(snapshot, move)
        if jobset is None or out.covers(move.namespace, jobset.metadata):
            continue
        reported.add(move.stopsUid)
        jobs = [
            controller
            for controller in owners.values()
            if _owner_uid(controller) == jobset.metadata.uid
        ]
        within = move.namespace
        whole = sum(ready.has_enough(job.metadata.uid, job.resumed, within) for job in jobs)
        recent = history.recent(snapshot.taken)
        made = len(
            {past_move.workload for past_move in recent if past_move.stopsUid == move.stopsUid}
        )
        if whole < made:
            said = f"JobSet {jobset.metadata.name} has {whole} of {count_text(made, 'Job')}"
            yield _missing_workload(late[uid], f"{said} with all pods Ready")


def _replaced_by_makers(
    moves: list[PastMove], owner: Controller, owners: dict[str, Controller]
) -> bool:
    """Whether the controllers that make the replacements, below the owner, have all they want.

    A rollout, or somebody who scales, has taken the rest of their pods since. What the owner lacks
    then are not the pods that we took.
    """
    makers = [owners.get(move.controller) for move in moves]
    return all(
        maker is not None
        and maker.metadata.uid != owner.metadata.uid
        and maker.kind in _COUNTING
        and maker.status.observedGeneration >= maker.metadata.generation
        and (maker.status.readyReplicas or 0) >= maker.wanted
        for maker in makers
    )


def _missing_workload(moves: list[PastMove], said: str, cause: str = "it has") -> Missing:
    in_flight = any(move.in_flight for move in moves)
    until = None if in_flight else max(move.last for move in moves) + LOOK_BACK
    return Missing(moves[0], tuple(moves), said, until, cause)


class _Leaving:
    """From when on replacements of evicted pods could come."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._workloads = {workload.uid: index for index, workload in enumerate(snapshot.workloads)}

    def gone_at(self, move: PastMove) -> datetime:
        """When it was evicted; where its controller waits, when it was gone, or should be.

        It was seen to be gone when a run looked, and that may be long after: it took no longer than
        the grace period that pods of its workload have, or the usual one where there are none.
        """
        if move.controllerKind not in _WAITING:
            return move.at
        if move.gone is not None:
            return min(move.gone, move.at + self._longest(move))
        pod = self._snapshot.pod_index.get(move.podUid)
        return move.at if pod is None else move.at + grace(self._snapshot.pods[pod])

    def _longest(self, move: PastMove) -> timedelta:
        """The longest grace period of the pods of its workload."""
        index = self._workloads.get(move.workload, -1)
        pods = np.flatnonzero(self._snapshot.pod_workload == index).tolist() if index >= 0 else []
        periods = (grace(self._snapshot.pods[pod]) for pod in pods)
        return max(periods, default=grace_of(None))


class _Ready:
    """Counts the Ready pods of workloads, by UID.

    late: the late moves of each workload.
    """

    def __init__(
        self, snapshot: Snapshot, eligibility: Eligibility, late: dict[str, list[PastMove]]
    ) -> None:
        self._unread = {
            uid: len(moves) for uid, moves in late.items() if all(move.unread for move in moves)
        }
        self._settling = {uid: sum(m.settling for m in moves) for uid, moves in late.items()}
        self._eligibility = eligibility
        self._index = {workload.uid: i for i, workload in enumerate(snapshot.workloads)}
        self._hidden = Counter(bad.namespace for bad in snapshot.undecodable if bad.kind == "Pod")

    def has_enough(self, uid: str, wanted: int, namespace: str) -> bool:
        """Whether it has so many, as far as can be known.

        Pods that cannot be decoded may be those that are missing: as many as there are moves whose
        pods could not be read, unless another of its moves is known to be lost.
        """
        hidden = min(self._hidden[namespace], self._unread.get(uid, 0))
        return self.ready_count(uid) + hidden >= wanted

    def ready_count(self, uid: str) -> int:
        """How many are Ready, without those that were lost and are so perhaps for a moment."""
        index = self._index.get(uid)
        ready = 0 if index is None else self._eligibility.ready(index)
        return max(ready - self._settling.get(uid, 0), 0)


class _OptedOut:
    """Who is left alone by the wish of its owner, and so holds nobody else."""

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._namespaces = {
            namespace.metadata.name: namespace.metadata for namespace in snapshot.namespaces
        }

    def covers(self, namespace: str, owner: ObjectMeta) -> bool:
        """Whether this owner or its namespace is protected, or has opted out."""
        if self._limits.protects(namespace):
            return True
        above = tuple(meta for meta in (owner, self._namespaces.get(namespace)) if meta is not None)
        taken, own = self._snapshot.taken, self._limits.optOuts
        return refuse_opt_out(Pod(), above, taken, own) is not None


def tenants_that_move(snapshot: Snapshot, limits: Limits, most: int) -> int:
    """How many tenants have namespaces where pods may be moved that have an owner, up to `most`."""
    out, tenants, movers = _OptedOut(snapshot, limits), Tenants(snapshot, limits), set[str]()
    for workload in snapshot.workloads:
        tenant = tenants.tenant_of(workload.namespace)
        if tenant not in movers and not out.covers(workload.namespace, ObjectMeta()):
            movers.add(tenant)
            if len(movers) >= most:
                break
    return len(movers)


def _own_reason(owner: Controller | None) -> str:
    """What the controller itself says of it, in brackets; or ""."""
    for condition in (owner.status.conditions or ()) if owner is not None else ():
        failed = (condition.type, condition.status) in (
            ("ReplicaFailure", "True"),
            ("Progressing", "False"),
        )
        if failed:
            text = " ".join(condition.message.split())[:_LONGEST_REASON]
            return f" ({condition.reason or condition.type}{': ' if text else ''}{text})"
    return ""


def _jobset(snapshot: Snapshot, move: PastMove) -> Owner | None:
    """The JobSet of the Workload that this move stopped; None where it is gone or has finished."""
    if any(
        gang_object.group == KUEUE
        and (gang_object.metadata.namespace, gang_object.metadata.name)
        == (move.namespace, move.stops)
        and holds(gang_object.status.conditions, "Finished")
        for gang_object in snapshot.gang_objects
    ):
        return None
    for jobset in snapshot.owners:
        if jobset.kind == "JobSet" and jobset.metadata.namespace == move.namespace:
            owner = OwnerReference(
                kind="JobSet",
                name=jobset.metadata.name,
                uid=jobset.metadata.uid,
                apiVersion=JOBSETS,
            )
            if move.stops in made_names(owner):
                return jobset
    return None


def _owner_uid(controller: Controller) -> str:
    above = controller.metadata.controller
    return "" if above is None else above.uid

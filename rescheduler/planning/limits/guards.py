"""Guards: what holds a whole cycle, however good its moves are."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from rescheduler.kube.controllers import Controller, Owner
from rescheduler.kube.gangs import KUEUE
from rescheduler.kube.kueue import JOBSETS, holds, made_names
from rescheduler.kube.objects import OwnerReference
from rescheduler.kube.pods.pod_state import grace, grace_of
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.wording import agreed, counted, instant
from rescheduler.planning.binding import Binding
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.schedulers import Schedulers

MOST_CLOCK_SKEW = timedelta(seconds=30)
"""Cool-downs and ages are compared with the API server's clock; evictions expire after 2 min."""
_FEW_NODES = 3
_WAITING = frozenset({"StatefulSet", "Job"})
"""Controllers that replace a pod once it is gone; others do while it ends."""


def holding(
    snapshot: Snapshot,
    bindings: tuple[Binding, ...],
    eligibility: Eligibility,
    limits: Limits,
    history: History,
    schedulers: Schedulers,
) -> list[Problem]:
    """Every guard that holds this cycle, in the order of their codes; empty lets it go on."""
    return [
        *_hot(bindings, limits),
        *_not_ready(snapshot, limits),
        *_unreplaced(snapshot, eligibility, limits, history),
        *_skewed(snapshot),
        *schedulers.guards,
    ]


def _hot(bindings: tuple[Binding, ...], limits: Limits) -> Iterator[Problem]:
    """GRD001. A single hot node is never too many: small clusters need their first move too."""
    for binding in bindings:
        if binding.loaded is None or binding.term is None:
            continue
        hot, scope = len(binding.loaded.hot_nodes()), binding.term.scope()
        if hot > max(1.0, limits.maxHotShare * scope):
            yield Problem(
                code="GRD001",
                message=f"{binding.policy.name}: {hot} of {counted(scope, 'node')} "
                f"{agreed(hot, 'is', 'are')} hot, {hot / max(scope, 1):.0%}; "
                f"at most {limits.maxHotShare:.0%} may be (maxHotShare)",
            )


def _not_ready(snapshot: Snapshot, limits: Limits) -> Iterator[Problem]:
    """GRD002, or GRD011 where no node at all can take a pod, however few they are."""
    bad = [node.metadata.name for node in snapshot.nodes if not node.ready]
    total = len(snapshot.nodes)
    shown = ", ".join(sorted(bad)[:5]) + (", ..." if len(bad) > 5 else "")
    if not total:
        yield Problem(code="GRD011", message="the API server lists no node")
    elif len(bad) == total:
        yield Problem(code="GRD011", message=f"none of {counted(total, 'node')} is Ready ({shown})")
    elif len(bad) > max(_FEW_NODES, limits.maxNotReadyShare * total):
        yield Problem(
            code="GRD002",
            message=f"{len(bad)} of {counted(total, 'node')} are not Ready ({shown}); at most "
            f"{limits.maxNotReadyShare:.0%} and {_FEW_NODES} may be (maxNotReadyShare)",
        )


def _unreplaced(
    snapshot: Snapshot, eligibility: Eligibility, limits: Limits, history: History
) -> Iterator[Problem]:
    """GRD003: one code for every workload that still lacks what we took from it.

    A replacement is late `readyTimeout` after the eviction; where its controller waits until the
    evicted pod is gone, after that, or after it should be: a pod that takes its grace period to end
    keeps the slot of its own workload, and nobody else waits for it.
    What its owner wants counts, whether there is a pod of it or none; of a Job that Kueue has
    suspended for our sake what it wants once it has its quota again. Such a Job that is gone is
    missed while its JobSet is there, which makes it anew. Of a move whose pods could not be read a
    pod that cannot be decoded may be the one that is missing.
    """
    late: dict[str, PastMove] = {}
    unread: dict[str, list[bool]] = {}
    stopped: set[str] = set()
    recent, leaving = history.recent(snapshot.taken), _Leaving(snapshot)
    for move in recent:
        overdue = move.in_flight and leaving.of(move) + limits.readyTimeout < snapshot.taken
        untouched = move.state == "intended" or move.no_effect
        stayed = untouched and move.podUid in snapshot.pod_index
        if (move.state == "lost" or overdue) and not (move.no_worse or stayed):
            late.setdefault(move.workload, move)
            unread.setdefault(move.workload, []).append(move.unread)
            stopped |= {move.workload} if move.stops else set()
    if not late:
        return
    known = {owner.metadata.uid: owner for owner in snapshot.controllers}
    ready = _Ready(snapshot, eligibility, unread)
    for uid, owner in known.items():
        if uid not in late:
            continue
        wanted = owner.resumed if uid in stopped else owner.wanted
        if not ready.enough(uid, wanted, late[uid].namespace):
            said = f"{owner.kind} {owner.metadata.name} has {ready.of(uid)} Ready of {wanted}"
            yield _missing(late[uid], said)
    told: set[str] = set()
    for uid in sorted(stopped - known.keys()):
        move = late[uid]
        jobset = None if move.stopsUid in told else _jobset(snapshot, move)
        if jobset is None:
            continue
        told.add(move.stopsUid)
        jobs = [each for each in known.values() if _above(each) == jobset.metadata.uid]
        within = move.namespace
        whole = sum(ready.enough(each.metadata.uid, each.resumed, within) for each in jobs)
        made = len({each.workload for each in recent if each.stopsUid == move.stopsUid})
        if whole < made:
            said = f"JobSet {jobset.metadata.name} has {whole} of {counted(made, 'Job')}"
            yield _missing(move, f"{said} with all pods Ready")


class _Leaving:
    """From when on replacements of evicted pods could come."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._workloads = {each.uid: index for index, each in enumerate(snapshot.workloads)}

    def of(self, move: PastMove) -> datetime:
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
        found = (grace(self._snapshot.pods[each]) for each in pods)
        return max(found, default=grace_of(None))


class _Ready:
    """Counts the Ready pods of workloads, by UID.

    unread: of the late moves of each workload whether their pods could not be read.
    """

    def __init__(
        self, snapshot: Snapshot, eligibility: Eligibility, unread: dict[str, list[bool]]
    ) -> None:
        self._unread = {uid: len(each) for uid, each in unread.items() if all(each)}
        self._eligibility = eligibility
        self._index = {workload.uid: i for i, workload in enumerate(snapshot.workloads)}
        self._hidden = Counter(bad.namespace for bad in snapshot.undecodable if bad.kind == "Pod")

    def enough(self, uid: str, wanted: int, namespace: str) -> bool:
        """Whether it has so many, as far as can be told.

        Pods that cannot be decoded may be those that are missing: as many as there are moves whose
        pods could not be read, unless another of its moves is known to be lost.
        """
        hidden = min(self._hidden[namespace], self._unread.get(uid, 0))
        return self.of(uid) + hidden >= wanted

    def of(self, uid: str) -> int:
        index = self._index.get(uid)
        return 0 if index is None else self._eligibility.ready(index)


def _missing(move: PastMove, said: str) -> Problem:
    by = f" with Workload {move.stops} of Kueue" if move.stops else ""
    name = f"pod {move.namespace}/{move.pod}"
    return Problem("GRD003", f"{name} was evicted{by} at {instant(move.at)}, and {said}")


def _jobset(snapshot: Snapshot, move: PastMove) -> Owner | None:
    """The JobSet of the Workload that this move stopped; None where it is gone or has finished."""
    if any(
        each.group == KUEUE
        and (each.metadata.namespace, each.metadata.name) == (move.namespace, move.stops)
        and holds(each.status.conditions, "Finished")
        for each in snapshot.gang_objects
    ):
        return None
    for each in snapshot.owners:
        if each.kind == "JobSet" and each.metadata.namespace == move.namespace:
            owner = OwnerReference(
                kind="JobSet", name=each.metadata.name, uid=each.metadata.uid, apiVersion=JOBSETS
            )
            if move.stops in made_names(owner):
                return each
    return None


def _above(controller: Controller) -> str:
    above = controller.metadata.controller
    return "" if above is None else above.uid


def _skewed(snapshot: Snapshot) -> Iterator[Problem]:
    """GRD007."""
    skew = snapshot.clock_skew
    if skew is not None and abs(skew) > MOST_CLOCK_SKEW.total_seconds():
        yield Problem(
            code="GRD007",
            message=f"this host's clock and the API server's differ by {skew:.0f} s; at most "
            f"{MOST_CLOCK_SKEW.total_seconds():.0f} s may be",
        )

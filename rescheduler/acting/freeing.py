"""Freeing: a replacement that must go to chosen nodes, and stays Pending, is made anew without.

It is evicted once, for its controller to make another, which nothing steers: its entry is gone from
the table by then. It is charged like any move, and takes no slot of its own. What it left counts as
gone wrong, so that its workload cools down for longer.
"""

from rescheduler.acting import trail_records
from rescheduler.acting.actor import Actor
from rescheduler.acting.halting import Halted, problem
from rescheduler.acting.rooms import RoomAttempts
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.kube.node_selection import node_affinity
from rescheduler.kube.objects import Pod
from rescheduler.model.errors import ActionError, LedgerFull, LockLost, ObjectUnreadable
from rescheduler.model.history import History, PastMove
from rescheduler.model.plan import MoveResult, OwnerRef, PlannedMove, PodRef
from rescheduler.model.problem import Problem
from rescheduler.model.steering import Means
from rescheduler.planning.eligibility.back_off import BackOff
from rescheduler.planning.eligibility.steerable import names_nodes
from rescheduler.planning.limits.move_limits import MoveLimits
from rescheduler.planning.plan.surroundings import Around, refuse_freed
from rescheduler.steering.confirming import lingering
from rescheduler.steering.steering import TABLED, close, settle_freeing


class FreeingAttempts(RoomAttempts):
    """Sends the evictions of one plan, and those of Pending replacements that had no choice."""

    def __init__(
        self, plan: str, actor: Actor, history: History, results: dict[str, MoveResult]
    ) -> None:
        """As `Attempts`."""
        super().__init__(plan, actor, history, results)
        self._tried: set[str] = set()
        self._waiting: dict[str, Problem] = {}

    def unsteer(self) -> None:
        """Take every entry out of the table: the run ends, and nobody would do it later.

        Raises:
            LockLost, ActionError: they could not be taken out, or not stored that they were.
        """
        if close(self._actor, self.history.moves, every=True) and self._actor.lease.held:
            self._actor.ledger.write(self.history)

    def free_left(self) -> None:
        """Free what earlier runs have left Pending; whatever guard holds, it is our doing.

        Raises:
            Halted, ActionError, SourceError: as `attempt`.
        """
        if self._overdue():
            self._snapshot = self._actor.observe()
            self.free()

    def free(self) -> None:
        """Evict each replacement that is Pending beyond its deadline, once, if the limits let us.

        Raises:
            Halted, ActionError, SourceError: as `attempt`.
        """
        self._waiting = {uid: why for uid, why in self._waiting.items() if uid in self._tried}
        for past in self._overdue():
            try:
                pods = self._actor.pods(past.namespace, past.selector, "")
            except ObjectUnreadable as error:
                self._not_yet(past, past.pod, problem("ACT023", error.sentence))
                continue
            pod = next((each for each in pods if each.metadata.uid == past.replacement), None)
            if pod is None or not _stuck(pod):
                continue
            self._keep_pace()
            refused = self._unfreed(past)
            began = self._actor.steady()
            move = refused or self._as_now(past, pod.metadata.name)
            if isinstance(move, Problem):
                self._not_yet(past, pod.metadata.name, move)
                continue
            self._tried.add(past.podUid)
            self._free(past, move, began)

    def _not_yet(self, past: PastMove, name: str, why: Problem) -> None:
        said = f"{past.namespace}/{name}"
        self._actor.warn("a Pending replacement is not freed yet", pod=said, **_told(why))
        self._waiting[past.podUid] = problem("STR007", f"{said}: {why.code}: {why.message}.")

    def still_pending(self) -> list[Problem]:
        """What to note of those that were to be freed when it was looked last, and were not."""
        return list(self._waiting.values())

    def _overdue(self) -> list[PastMove]:
        """The moves whose replacement is Pending for too long, and was not freed."""
        tried = self._tried | {move.frees for move in self.history.moves if move.charged}
        now = self._actor.clock()
        return [
            move
            for move in self.history.moves
            if move.steered is not None
            and (move.steered.strength, move.steered.missed) == ("Require", False)
            and move.state in ("evicted", "lost")
            and move.replacement
            and not (move.landedOn or move.freed or move.steered.open or move.podUid in tried)
            and now >= move.steered.until
        ]

    def _unfreed(self, past: PastMove) -> Problem | None:
        """Why no pod must be evicted for this move for now, whatever it is like."""
        limits, seen = self._actor.limits, self._seen()
        resting = BackOff(seen, limits, self.history, self._plan).refuse_resting(
            past.workload, f"the workload of {past.namespace}/{past.pod}"
        )
        barred = self._barred.get((past.namespace, "")) or resting
        if barred is not None:
            return barred
        allowed = MoveLimits(seen, limits, self.history, self._actor.clock(), self._plan)
        # It completes a move of its workload, and counts with it as one; it leaves no node.
        replacement = allowed.of_replacement(past)
        full = allowed.closed() or allowed.refusal(replacement, follows=True)
        if full is not None:
            return full
        others = (each for each in self.history.moves if each.podUid != past.podUid)
        if any(e.controller == past.controller and e.steered and e.steered.open for e in others):
            return problem("STR004", "Another entry of its controller is open.")
        if past.steered is not None and past.steered.by in TABLED:
            return self._lingering(past.steered.by)
        return None

    def _lingering(self, means: Means) -> Problem | None:
        """Why the next replacement may be steered as this one was."""
        try:
            return lingering(self._actor, means)
        except LockLost:
            raise
        except ActionError as error:
            return problem("STR004", error.sentence)

    def _as_now(self, past: PastMove, name: str) -> PlannedMove | Problem:
        """The eviction of the replacement as it is read now, with what it hangs on; or why not."""
        fresh = self._rereading.read(past.namespace, name)
        if isinstance(fresh, Problem):
            return fresh
        pod = next((each for each in fresh.pods if each.metadata.name == name), None)
        if pod is None or pod.metadata.uid != past.replacement or not _stuck(pod):
            return problem("DRF001", "It does not wait for a node any more.")
        move = _freeing(past, pod)
        actor = self._actor
        around = Around(
            self._seen(),
            fresh,
            actor.limits,
            self.history,
            self._plan,
            schedulers=actor.schedulers,
        )
        return refuse_freed(move, around) or move

    def _free(self, past: PastMove, move: PlannedMove, began: float) -> None:
        actor = self._actor
        self._may_send()
        freeing = PastMove(
            plan=self._plan,
            podUid=move.pod.uid,
            namespace=past.namespace,
            pod=move.pod.name,
            workload=past.workload,
            controller=past.controller,
            controllerKind=past.controllerKind,
            source="",
            counted=past.counted,
            at=actor.clock(),
            fence=actor.ledger.fence,
            frees=past.podUid,
        )
        actor.record(trail_records.intent(move, freeing))
        self.history.moves.append(freeing)
        try:
            actor.ledger.intend(self.history)
        except LedgerFull as error:
            self.history.moves.pop()
            self._not_yet(past, move.pod.name, self._full(move, error))
            return
        try:
            self._may_send()
            self._is_fresh(move, actor.steady() - began)
        except Halted:
            self._withdraw([freeing])
            raise
        self._last = actor.clock()
        answer = actor.evict(move, self._plan, actor.ledger.fence)
        if answer.result == "unknown":
            answer = self._resolved(move, freeing.at, answer)
        self._freed(move, freeing, answer)

    def _freed(self, move: PlannedMove, freeing: PastMove, answer: EvictionAnswer) -> None:
        actor = self._actor
        actor.record(trail_records.answered(move, self._plan, answer))
        if answer.result == "evicted":
            settle_freeing(self.history, freeing, actor.clock())
        else:
            self._stays(freeing, answer)
        said = Problem(code=answer.code, message=answer.message)
        actor.announce(move, MoveResult.of(move, answer.result, said), self._plan)
        actor.ledger.write(self.history)
        self._heed(move, answer)


def unschedulable(pod: Pod) -> bool:
    """Whether the scheduler has tried to place the pod, found no node, and waits for none to free.

    Source: pkg/scheduler/schedule_one.go, handleSchedulingFailure, Kubernetes 1.36.
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


def _freeing(past: PastMove, pod: Pod) -> PlannedMove:
    """The eviction of this Pending replacement, as a move off no node."""
    return PlannedMove(
        pod=PodRef(
            namespace=past.namespace,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            resourceVersion=pod.metadata.resourceVersion,
        ),
        owner=OwnerRef(
            kind="",
            name="",
            uid=past.workload,
            controllerKind=past.controllerKind,
            controllerUid=past.controller,
        ),
        source="",
        landing=[],
        returns=0.0,
        unschedulable=0.0,
        gain=0.0,
        disruption=0.0,
        batch=past.batch,
        reasons=[problem("STR006")],
    )


def _told(found: Problem) -> dict[str, str]:
    return {"code": found.code, "message": found.message}


def _stuck(pod: Pod) -> bool:
    """Whether it finds no node, and may by what was merged into it."""
    return unschedulable(pod) and _held_to_nodes(pod)


def _held_to_nodes(pod: Pod) -> bool:
    """Whether it bears the affinity that was merged into it; one made without gains by no new try.

    Pods that name nodes themselves are never steered.
    """
    return names_nodes(node_affinity(pod.spec).requiredDuringSchedulingIgnoredDuringExecution)

"""Releases: a replacement that must go to chosen nodes, and stays Pending, is made again without.

It is evicted once, for its controller to make another, which nothing steers: its entry is gone from
the table by then. It is charged like any move, and takes no slot of its own. What it left counts as
gone wrong, so that its workload cools down for longer.
"""

from collections.abc import Callable

from rescheduler.acting.actor import Actor
from rescheduler.acting.halting import Halted
from rescheduler.acting.sender import Sender
from rescheduler.acting.units import release_of
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ObjectUnreadable
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import OwnerRef, PlannedMove, PodRef
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.gates.drift import waits_for_chosen_nodes


class Releases:
    """Finds the replacements that stay Pending, and has them evicted once."""

    def __init__(self, actor: Actor, history: History, sender: Sender) -> None:
        """sender: of the run, by whose snapshot they are judged."""
        self._actor = actor
        self._history = history
        self._sender = sender
        self._tried: set[str] = set()
        self._waiting: dict[str, Problem] = {}

    def release_earlier(self, observe: Callable[[], Snapshot]) -> None:
        """Release what earlier runs have left Pending; whatever guard holds, it is our doing.

        observe: a fresh snapshot of the cluster that the plan is for.

        Raises:
            Halted, ActionError, SourceError: as `Sender.send`.
        """
        if self._overdue():
            self._sender.look_at(observe())
            self.release()

    def release(self) -> None:
        """Evict each replacement that is Pending beyond its deadline, once, if the limits let us.

        Raises:
            Halted, ActionError, SourceError: as `Sender.send`.
        """
        self._waiting = {uid: why for uid, why in self._waiting.items() if uid in self._tried}
        for past in self._overdue():
            try:
                pods = self._actor.pods(past.namespace, past.selector, "")
            except ObjectUnreadable as error:
                self._not_yet(past, past.pod, problem("ACT023", error.sentence))
                continue
            pod = next((pod for pod in pods if pod.metadata.uid == past.replacement), None)
            if pod is None or not waits_for_chosen_nodes(pod):
                continue
            name = pod.metadata.name
            try:
                refused = self._sender.send(release_of(_eviction(past, pod), past))
            except Halted as halt:
                self._not_yet(past, name, halt.verdict)
                raise
            result = self._sender.records.results[pod.metadata.uid]
            if result.result != "evicted":
                self._not_yet(past, name, Problem(result.code, result.message))
            # What was changed since it was read is requested again, by what it is then.
            was_requested = refused is None and result.code != "ACT003"
            if was_requested or (refused is not None and refused.code == "ACT025"):
                self._tried.add(past.podUid)

    def still_pending(self) -> list[Problem]:
        """What to note of replacements that are Pending, and could not be released yet."""
        landed = {move.podUid for move in self._history.moves if move.landedOn}
        return [why for uid, why in self._waiting.items() if uid not in landed]

    def _not_yet(self, past: PastMove, name: str, why: Problem) -> None:
        said = f"{past.namespace}/{name}"
        text = "a Pending replacement is not released yet"
        self._actor.warn(text, pod=said, code=why.code, message=why.message)
        self._waiting[past.podUid] = problem("STR007", f"{said}: {why.code}: {why.message}.")

    def _overdue(self) -> list[PastMove]:
        """The moves whose replacement is Pending for too long, and was not released."""
        released = {move.frees for move in self._history.moves if move.charged}
        tried = self._tried | released
        now = self._actor.clock()
        return [
            move
            for move in self._history.moves
            if move.steered is not None
            and (move.steered.strength, move.steered.missed) == ("Require", False)
            and move.state in ("evicted", "lost")
            and move.replacement
            and not (move.landedOn or move.freed or move.steered.open or move.podUid in tried)
            and now >= move.steered.until
        ]


def _eviction(past: PastMove, pod: Pod) -> PlannedMove:
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
        reasons=[MoveReason(code="STR006")],
    )

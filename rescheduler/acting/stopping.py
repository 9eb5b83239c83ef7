"""Gangs that Kueue runs: one request stops all pods, and Kueue starts them again by itself.

No PodDisruptionBudget is asked by anybody but us, so everything is read again right before it, and
must allow all pods at once. All Workloads are listed before the intents: Kueue keeps those that
have finished, so that it may take long. The gang's own, and its queues, are read again after them.
Whether an unanswered request took effect is found out by the Workload's UID.
"""

from collections.abc import Sequence
from dataclasses import replace

from rescheduler.acting.actor import Workloads
from rescheduler.acting.attempt import FRESH, Attempts
from rescheduler.acting.halting import Halted, problem
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.kube.gangs import GangObject
from rescheduler.kube.kueue import unstoppable, was_stopped
from rescheduler.model.errors import SourceError
from rescheduler.model.history import PastMove
from rescheduler.model.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.restarting import RESTARTED, StopRef
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.plan.any_order import in_any_order


class StopAttempts(Attempts):
    """Stops and starts the gangs of one plan that Kueue runs."""

    def _stop(self, moves: Sequence[PlannedMove], stops: StopRef) -> Problem | None:
        """Stop the gang of these moves, which pass the check as they are; or why it must not be.

        Raises:
            Halted, ActionError, SourceError: as `attempt_group`.
        """
        if self._actor.kueue is None:
            return problem("ACT021", "Nothing here stops Workloads.")
        if self._snapshot is None:
            raise ValueError("no batch was begun")
        moves = in_any_order(moves, self._snapshot)
        self._may_send()
        try:
            listed = self._actor.queues()
        except SourceError as error:
            return _unread(error)
        around = self._around(moves)
        if isinstance(around, Problem):
            return around
        fresh = _with_queues(around, listed)
        found = self._as_it_is(moves, fresh, stops)
        if isinstance(found, Problem):
            return found
        intents = self._intend([(move, fresh) for move in moves])
        if not intents:
            return None
        try:
            found = self._right_before(moves, listed, stops)
        except (Halted, SourceError):
            self._withdraw(intents)
            raise
        if isinstance(found, Problem):
            self._withdraw(intents)
            return found
        self._sent(list(zip(moves, intents, strict=True)), found)
        return None

    def _right_before(
        self, moves: Sequence[PlannedMove], listed: Snapshot, stops: StopRef
    ) -> GangObject | Problem:
        """The Workload, to be stopped now that the intents are stored; or why it must not be.

        listed: all Workloads and queues, of which these are read again: the gang's Workload, the
        LocalQueues of its namespace, and the ClusterQueues, which tell whether others wait; and the
        nodes of all its pods.
        """
        self._may_send()
        began, namespace = self._actor.steady(), moves[0].pod.namespace
        sources = {move.source for move in moves}
        try:
            now = self._actor.workload(namespace, stops.name, sorted(sources))
        except SourceError as error:
            return _unread(error)
        around = self._around(moves)
        if isinstance(around, Problem):
            return around
        fresh = _with_queues(around, _renewed(listed, now, (namespace, stops.name)))
        others = [node for node in fresh.nodes if node.metadata.name not in sources]
        fresh = replace(fresh, nodes=[*others, *now.nodes])
        found = self._as_it_is(moves, fresh, stops)
        self._may_send()
        age = self._actor.steady() - began
        if age > FRESH:
            return problem("ACT021", f"What it hangs on was read {age:.1f} s ago.")
        return found

    def _as_it_is(
        self, moves: Sequence[PlannedMove], fresh: Snapshot, stops: StopRef
    ) -> GangObject | Problem:
        """The Workload of these moves as it was read; or why it must be left alone."""
        found = _stoppable(fresh, moves[0], stops)
        return found if isinstance(found, Problem) else self._all_changed(moves, fresh) or found

    def _around(self, moves: Sequence[PlannedMove]) -> Snapshot | Problem:
        """What all these pods hang on, read now: once for each of their controllers; or why not.

        Nodes that are not read again are those of the batch.
        """
        first = {move.owner.controllerUid: move for move in reversed(moves)}
        read: list[Snapshot] = []
        for move in first.values():
            fresh = self._rereading.read(move.pod.namespace, move.pod.name)
            if isinstance(fresh, Problem):
                return of_member(move, fresh)
            read.append(fresh)
        pods = {pod.metadata.uid: pod for each in read for pod in each.pods}
        nodes = {node.metadata.name: node for node in self._seen().nodes}
        for move, each in zip(first.values(), read, strict=True):
            nodes.pop(move.source, None)
            nodes.update({node.metadata.name: node for node in each.nodes})
        controllers = {c.metadata.uid: c for each in read for c in each.controllers}
        owners = {owner.metadata.uid: owner for each in read for owner in each.owners}
        return replace(
            read[0],
            pods=list(pods.values()),
            nodes=list(nodes.values()),
            controllers=list(controllers.values()),
            owners=list(owners.values()),
            undecodable=[bad for each in read for bad in each.undecodable],
        )

    def _all_changed(self, moves: Sequence[PlannedMove], fresh: Snapshot) -> Problem | None:
        """Why one of these may not be stopped; its PodDisruptionBudgets must allow all at once."""
        group = frozenset(move.pod.uid for move in moves)
        for move in moves:
            changed = self._changed(move, fresh, group)
            if changed is not None:
                return of_member(move, changed)
        return None

    def _sent(self, moves: list[tuple[PlannedMove, PastMove]], workload: GangObject) -> None:
        """Send the one request, whose intents are stored, and keep what came of it."""
        actor = self._actor
        if actor.kueue is None:
            raise ValueError("nothing here stops Workloads")
        self._last = actor.clock()
        answer = actor.kueue.restart(workload)
        if answer.result == "unknown":
            answer = self._stopped_after_all(actor.kueue, workload, answer)
        for move, past in moves:
            self._keep(move, past, answer)
        actor.ledger.write(self.history)
        for move, _ in moves:
            actor.announce(move, self.results[move.pod.uid], self._plan)
        self._heed(moves[0][0], answer)

    def _stopped_after_all(
        self, kueue: Workloads, workload: GangObject, answer: EvictionAnswer
    ) -> EvictionAnswer:
        """What became of a request that was not answered, by the Workload's UID."""
        metadata = workload.metadata

        def look() -> str:
            found = kueue.read(metadata.namespace, metadata.name)
            return RESTARTED if was_stopped(found, metadata.uid) else ""

        return self._found_out(answer, look)


def _unread(error: SourceError) -> Problem:
    return problem("ACT021", f"What Kueue decides by cannot be read: {error.message}.")


def _with_queues(fresh: Snapshot, queues: Snapshot) -> Snapshot:
    """What was read around pods, with what Kueue decides by."""
    return replace(
        fresh,
        gang_objects=queues.gang_objects,
        cluster_queues=queues.cluster_queues,
        local_queues=queues.local_queues,
        undecodable=[*fresh.undecodable, *queues.undecodable],
        unread=queues.unread,
    )


def _renewed(listed: Snapshot, now: Snapshot, workload: tuple[str, str]) -> Snapshot:
    """What was listed, with this Workload and its queues as they are now.

    now: the Workload, where it still is, the LocalQueues of its namespace, and all ClusterQueues.
    """
    return replace(
        listed,
        gang_objects=[
            *(
                each
                for each in listed.gang_objects
                if (each.metadata.namespace, each.metadata.name) != workload
            ),
            *now.gang_objects,
        ],
        cluster_queues=now.cluster_queues,
        local_queues=[
            *(each for each in listed.local_queues if each.metadata.namespace != workload[0]),
            *now.local_queues,
        ],
        undecodable=[*listed.undecodable, *now.undecodable],
    )


def _stoppable(fresh: Snapshot, move: PlannedMove, stops: StopRef) -> GangObject | Problem:
    """The Workload as it is now, or why it must be left alone."""
    key = (move.pod.namespace, stops.name)
    for each in fresh.gang_objects:
        if (each.metadata.namespace, each.metadata.name) == key and each.metadata.uid == stops.uid:
            why = unstoppable(each)
            return problem("ACT021", f"{why}.") if why else each
    return problem("ACT021", f"Workload {stops.name} is gone, or another one.")


def of_member(move: PlannedMove, found: Problem) -> Problem:
    """Why a group is not moved, with the pod that it is about."""
    name = f"{move.pod.namespace}/{move.pod.name}"
    return Problem(code=found.code, message=f"{found.message} ({name} of {move.group})")

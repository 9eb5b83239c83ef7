"""Requests of one unit: evictions pod by pod, or a whole gang through Kueue.

Nothing here decides: what is read is judged by the gates, and what is answered by who sends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from msgspec import structs

from rescheduler.acting.actor import Actor
from rescheduler.acting.pod_reader import PodReader
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.actions.seen_pod import older, was_evicted
from rescheduler.kube.kueue import was_stopped
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import SourceError
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.moves.restart_cost import RESTARTED, StopRef
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG, problem
from rescheduler.planning.gates.kueue_workload import workload_of
from rescheduler.planning.plan.unordered_landings import in_any_order


@dataclass(frozen=True, slots=True)
class MoveAttempt:
    """A move on its way to its eviction.

    snapshot_or_problem: what it depends on, as it was read; or why that cannot be read. began:
    when reading it began, in seconds on the steady clock. intent: its record, once that is stored.
    """

    move: PlannedMove
    snapshot_or_problem: Snapshot | Problem
    began: float
    intent: PastMove | None = None

    @property
    def read(self) -> Snapshot:
        """What was read; raises ValueError where a gate has let through what could not be."""
        if isinstance(self.snapshot_or_problem, Problem):
            raise ValueError(self.snapshot_or_problem.message)  # noqa: TRY004
        return self.snapshot_or_problem

    @property
    def past(self) -> PastMove:
        """Its record; raises ValueError where its intent is not stored."""
        if self.intent is None:
            raise ValueError("no intent is stored")
        return self.intent


class Evictions:
    """Each pod by a request of its own to the Eviction API."""

    together: ClassVar[bool] = False
    """Whether one request is for all moves of a unit."""

    def order_moves(self, moves: Sequence[PlannedMove], _seen: Snapshot) -> Sequence[PlannedMove]:
        """As they are: each replacement is made when its pod was evicted."""
        return moves

    def read(
        self,
        reader: PodReader,
        moves: Sequence[PlannedMove],
        _seen: Snapshot,
        _before: Snapshot | None = None,
    ) -> Iterator[MoveAttempt]:
        """What each of them depends on, one after the other. Raises: as `Reader.read`."""
        for move in moves:
            began = reader.now()
            yield MoveAttempt(move, reader.read(move.pod.namespace, move.pod.name), began)

    def send(
        self, actor: Actor, plan: str, moves: Sequence[PlannedMove], read: Snapshot
    ) -> EvictionAnswer:
        """Evict the one pod of these as it was read: one that is Pending may not have changed."""
        (move,) = moves
        pods = (pod.metadata for pod in read.pods if pod.metadata.uid == move.pod.uid)
        version = next(pods).resourceVersion
        exact = structs.replace(move, pod=structs.replace(move.pod, resourceVersion=version))
        return actor.evict(exact, plan, actor.ledger.fence)

    def effect(self, actor: Actor, move: PlannedMove, at: datetime) -> str:
        """What an unanswered request did, by the UID of the pod; or "". Raises: SourceError."""
        pod = actor.pod(move.pod.namespace, move.pod.name)
        evicted = was_evicted(pod, move.pod.uid) and not older(pod, move.pod.uid, at)
        return CATALOG["ACT001"].sentence if evicted else ""


@dataclass(frozen=True, slots=True)
class Restart:
    """All pods of a gang by one request: Kueue stops them, and starts them again by itself.

    Nobody but us checks PodDisruptionBudgets, so everything is read again right before it, and must
    allow all pods at once. All Workloads are listed before the intents: Kueue keeps those that have
    finished, so that it may take long. The gang's own, and its queues, are read again after them.
    Whether an unanswered request took effect shows by the Workload's UID.
    """

    stops: StopRef
    together: ClassVar[bool] = True

    def order_moves(self, moves: Sequence[PlannedMove], seen: Snapshot) -> Sequence[PlannedMove]:
        """All pods are started at once, so nobody knows which comes first."""
        return in_any_order(moves, seen)

    def read(
        self,
        reader: PodReader,
        moves: Sequence[PlannedMove],
        seen: Snapshot,
        before: Snapshot | None = None,
    ) -> Iterator[MoveAttempt]:
        """What all of them depend on, in one snapshot. Raises: as `Reader.read`.

        seen: the snapshot of the batch. before: what was read before the intents, once these are
        stored.
        """
        first, began = moves[0], reader.now()
        reader.ready()
        try:
            queues = self._read_queues(reader.actor, moves, before)
        except SourceError as error:
            said = f"What Kueue decides by cannot be read: {error.message}."
            yield MoveAttempt(first, problem("ACT021", said), began)
            return
        # Listing everything may take long; what follows the intents must be new.
        began = reader.now() if before is None else began
        around = self._read_pods(reader, moves, seen)
        if isinstance(around, MoveAttempt):
            yield replace(around, began=began)
            return
        fresh = _with_queues(around, queues)
        if before is not None:
            # The nodes of all its pods were read again with the Workload.
            sources = {move.source for move in moves}
            others = [node for node in fresh.nodes if node.metadata.name not in sources]
            fresh = replace(fresh, nodes=[*others, *queues.nodes])
        for move in moves:
            yield MoveAttempt(move, fresh, began)

    def _read_queues(
        self, actor: Actor, moves: Sequence[PlannedMove], before: Snapshot | None
    ) -> Snapshot:
        """All Workloads and queues; later the gang's own, and what tells whether others wait."""
        if before is None:
            return actor.queues()
        key = (moves[0].pod.namespace, self.stops.name)
        now = actor.workload(*key, sorted({move.source for move in moves}))
        return replace(_replace_workload(before, now, key), nodes=now.nodes)

    def _read_pods(
        self, reader: PodReader, moves: Sequence[PlannedMove], seen: Snapshot
    ) -> Snapshot | MoveAttempt:
        """What all these pods depend on, read once for each of their controllers; or why not.

        seen: of the batch, whose nodes stand for those that are not read again.
        """
        first = {move.owner.controllerUid: move for move in reversed(moves)}
        read: list[Snapshot] = []
        for move in first.values():
            fresh = reader.read(move.pod.namespace, move.pod.name)
            if isinstance(fresh, Problem):
                return MoveAttempt(move, fresh, 0.0)
            read.append(fresh)
        pods = {pod.metadata.uid: pod for one in read for pod in one.pods}
        nodes = {node.metadata.name: node for node in seen.nodes}
        for move, one in zip(first.values(), read, strict=True):
            nodes.pop(move.source, None)
            nodes.update({node.metadata.name: node for node in one.nodes})
        controllers = {c.metadata.uid: c for one in read for c in one.controllers}
        owners = {owner.metadata.uid: owner for one in read for owner in one.owners}
        return replace(
            read[0],
            pods=list(pods.values()),
            nodes=list(nodes.values()),
            controllers=list(controllers.values()),
            owners=list(owners.values()),
            undecodable=[bad for one in read for bad in one.undecodable],
        )

    def send(
        self, actor: Actor, _plan: str, moves: Sequence[PlannedMove], read: Snapshot
    ) -> EvictionAnswer:
        """Delete the Workload as it was read."""
        workload = workload_of(read, moves[0].pod.namespace, self.stops)
        if workload is None:
            raise ValueError("a gate has let through what cannot be stopped")
        return actor.kueue.restart(workload)

    def effect(self, actor: Actor, move: PlannedMove, _at: datetime) -> str:
        """What an unanswered request did, by the UID of the Workload; or ""."""
        workload = actor.kueue.read(move.pod.namespace, self.stops.name)
        return RESTARTED if was_stopped(workload, self.stops.uid) else ""


Request = Evictions | Restart
"""How the moves of a unit are requested."""


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


def _replace_workload(listed: Snapshot, now: Snapshot, workload: tuple[str, str]) -> Snapshot:
    """What was listed, with this Workload and its queues as they are now.

    now: the Workload, where it still is, the LocalQueues of its namespace, and all ClusterQueues.
    """
    namespace = workload[0]
    others = (
        gang_object
        for gang_object in listed.gang_objects
        if (gang_object.metadata.namespace, gang_object.metadata.name) != workload
    )
    elsewhere = (queue for queue in listed.local_queues if queue.metadata.namespace != namespace)
    return replace(
        listed,
        gang_objects=[*others, *now.gang_objects],
        cluster_queues=now.cluster_queues,
        local_queues=[*elsewhere, *now.local_queues],
        undecodable=[*listed.undecodable, *now.undecodable],
    )

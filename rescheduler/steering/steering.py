"""Steering while acting: sends replacements to the nodes that the plan chose.

A move is steered from when its intent is stored, before its eviction is sent, until its replacement
was steered, or as `close` says. Where a replacement lands is held against what was predicted only
if it was steered.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.pod_state import grace
from rescheduler.kube.pods.steered_affinity import HOSTNAME, template_hash
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.means_base import Means, SteeredMove, Writer, steered_moves
from rescheduler.steering.means_registry import MEANS
from rescheduler.steering.port import Port
from rescheduler.steering.waiting import PENDING


class Steering:
    """All means of steering, over one port."""

    def __init__(self, port: Port, means: Iterable[type[Means]] = MEANS.values()) -> None:
        self._port = port
        self._kinds = tuple(means)
        self._means = {kind.name: kind(port) for kind in self._kinds}
        self._writers = [kind(port) for kind in dict.fromkeys(mean.writer for mean in self._kinds)]

    def with_clock(self, clock: Callable[[], datetime]) -> "Steering":
        """The same, by another clock."""
        return Steering(replace(self._port, clock=clock), self._kinds)

    def ready(self, means: str, declared: Sequence[Scheduler]) -> Problem | None:
        """Why this means is not set up, as far as reading shows. Raises: as `Means.ready`."""
        return self._means[means].ready(declared) if means in self._means else None

    def confirm(self, means: str) -> Problem | None:
        """Why it is not seen to steer by what is written now. Raises: as `Means.confirm`."""
        return self._means[means].confirm() if means in self._means else None

    def intend(self, move: PlannedMove, fresh: Snapshot, snapshot: Snapshot) -> PastSteering | None:
        """How the replacement of this move is to be steered, for its intent; None: not at all.

        fresh: the pod as it was read just now. snapshot: has the nodes and their labels.
        """
        if move.steered is None:
            return None
        pod = next(
            pod_object for pod_object in fresh.pods if pod_object.metadata.uid == move.pod.uid
        )
        labels = {
            node.metadata.name: (node.metadata.labels or {}).get(HOSTNAME, "")
            for node in snapshot.nodes
            if node.metadata.name in move.steered.nodes
        }
        named = pod.controller is not None and pod.controller.kind == "StatefulSet"
        means = self._means.get(move.steered.by)
        taints = means is not None and means.taints
        return PastSteering(
            by=move.steered.by,
            strength=move.steered.strength,
            hostnames=[] if taints else [labels.get(node, "") for node in move.steered.nodes],
            shunned=move.steered.shunned if taints else [],
            template=template_hash(pod.metadata.labels),
            name=pod.metadata.name if named else "",
            until=self._port.clock() + grace(pod) + PENDING,
        )

    def enter(self, history: History, moves: Sequence[PastMove]) -> Problem | None:
        """Make the steering of these moves, whose intents are stored, effective; or say why not.

        All of them are, or nothing may be evicted.

        Raises:
            LockLost: somebody with a later fence wrote.
        """
        wanted = steered_moves(moves)
        unknown = {steering.by for _, steering in wanted} - self._means.keys()
        if unknown:
            names = ", ".join(sorted(unknown))
            return Problem(code="STR001", message=f"nothing here steers by {names}")
        for _, steering in wanted:
            steering.open_entry()
        for writer, own in self._by_writer(wanted):
            problem = self._enter(writer, history, own)
            if problem is not None:
                return problem
        return None

    def _enter(self, writer: Writer, history: History, moves: list[SteeredMove]) -> Problem | None:
        try:
            problem = writer.enter(history, moves)
            for name in sorted({steering.by for _, steering in moves}):
                problem = problem or self._means[name].confirm()
        except LockLost:
            raise
        except ActionError as error:
            return Problem(code=writer.code, message=error.sentence)
        return problem

    def close(self, moves: Iterable[PastMove], *, every: bool = False) -> bool:
        """Take out what is not needed any more; answers whether there was anything.

        What steers a move is needed until:
        - its replacement was steered;
        - its deadline has come;
        - nothing was evicted after all;
        - the run ends. every: whether it does, so that none is needed.

        What cannot be taken out stays marked as open; where the run ends that is an error.

        Raises:
            LockLost: somebody with a later fence wrote.
            ActionError: the run ends, and something could not be taken out.
        """
        opened = _open_moves(moves)
        due = opened if every else self._finished_moves(opened)
        if not due:
            return False
        try:
            for writer, own in self._by_writer(due):
                writer.close(own)
        except LockLost:
            raise
        except ActionError as error:
            if every:
                raise
            self._port.warn("an entry could not be taken out yet", message=error.message)
            return False
        self._end(due)
        return True

    def _finished_moves(self, moves: list[SteeredMove]) -> list[SteeredMove]:
        return [
            move
            for means in self._means.values()
            for move in means.finished_moves(
                [(m, steering) for m, steering in moves if steering.by == means.name]
            )
        ]

    def sweep(self, history: History) -> bool:
        """Take out what a process that ended has left; whether that was anything.

        Raises:
            ActionError: it has left something, and that cannot be taken out.
        """
        open_moves = _open_moves(history.moves)
        for writer in self._writers:
            writer.sweep(self._moves_of_writer(writer, open_moves))
        self._end(open_moves)
        return bool(open_moves)

    def _end(self, moves: Iterable[SteeredMove]) -> None:
        for move, steering in moves:
            means = self._means.get(steering.by)
            move.end_steering(was_steered=means is not None and means.was_steered(move))

    def sweep_strays(self, snapshot: Snapshot) -> list[Problem]:
        """Remove what is ours and belongs to no known move; what must be said of it.

        To be called where no move is open.
        """
        return [note for writer in self._writers for note in writer.sweep_strays(snapshot)]

    def inspect_replacement(self, move: PastMove, replacement: Pod) -> None:
        """Look at a replacement that is seen for the first time: whether it was steered at all."""
        steering = move.steered
        if steering is not None and not steering.freed and steering.by in self._means:
            self._means[steering.by].inspect_replacement(move, steering, replacement)

    def lingering_problem(self, means: str) -> Problem | None:
        """Why this means may still steer by something that was taken out, or None.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        return self._means[means].lingering_problem() if means in self._means else None

    def holds_others(self, move: PastMove) -> bool:
        """Whether other moves wait for its replacement: what steers it changes where pods land."""
        if move.steered is None or not move.steered.open:
            return False
        means = self._means.get(move.steered.by)
        return means is not None and means.one_at_a_time

    def _by_writer(
        self, moves: Sequence[SteeredMove]
    ) -> Iterator[tuple[Writer, list[SteeredMove]]]:
        """Each writer that has something to do, with its moves."""
        for writer in self._writers:
            own = self._moves_of_writer(writer, moves)
            if own:
                yield writer, own

    def _moves_of_writer(self, writer: Writer, moves: Sequence[SteeredMove]) -> list[SteeredMove]:
        names = {name for name, means in self._means.items() if isinstance(writer, means.writer)}
        return [(move, steering) for move, steering in moves if steering.by in names]


def _open_moves(moves: Iterable[PastMove]) -> list[SteeredMove]:
    return [(move, steering) for move, steering in steered_moves(moves) if steering.open]

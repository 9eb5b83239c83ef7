"""`Means` and `Writer`: what each means of steering implements.

A writer puts the steering of moves into the cluster and takes it out. Means that go by the same
table share a writer, so that all moves of one intent are entered at once, or none.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.model.moves.steering_entry import Strength
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.port import Port

SteeredMove = tuple[PastMove, PastSteering]
"""A move whose replacement is steered, and how."""


def steered_moves(moves: Iterable[PastMove]) -> list[SteeredMove]:
    """Those of the moves that are steered."""
    return [(move, move.steered) for move in moves if move.steered is not None]


class Writer(ABC):
    """Writes the steering of moves.

    code: the reason code where a write failed.
    """

    code: ClassVar[str]

    def __init__(self, port: Port) -> None:
        self._port = port

    @abstractmethod
    def enter(self, history: History, moves: Sequence[SteeredMove]) -> Problem | None:
        """Write the steering of these moves, whose intents are stored: all, or say why not.

        Raises:
            LockLost: somebody with a later fence wrote.
            ActionError: it could not be written, or it is not known whether it was.
        """

    @abstractmethod
    def close(self, moves: Sequence[SteeredMove]) -> None:
        """Take the steering of these moves out. Raises: as `enter`; some may be left."""

    @abstractmethod
    def sweep(self, moves: Sequence[SteeredMove]) -> None:
        """Take out what is there once the lock is won.

        moves: those that a process that ended may have left something of.

        Raises:
            ActionError: it has left something, and that cannot be taken out.
        """

    def sweep_strays(self, _snapshot: Snapshot) -> list[Problem]:
        """Remove what is ours in the snapshot and belongs to no known move; what must be said."""
        return []


class Means(ABC):
    """One means of steering: what planning and policies need to know of it, and its verbs.

    name: as operators write it. writer: what writes it.
    about: for the documentation of `steering.by`, after the name. taints: whether nodes bear a
    taint, so that replacements go elsewhere; with all others the chosen nodes are named. requires:
    whether it can keep replacements from all other nodes. one_at_a_time: whether what steers one
    replacement changes where other pods land, so that other moves wait until it is placed, and a
    gang, whose replacements come at the same time, is never steered. extends: whether it works only
    for pods of a scheduler that is configured to ask an extender. since: the minor version of
    Kubernetes 1 from which on it is served, 0 where every version whose scheduler is modelled
    serves it. before: what kube-apiserver lacks before that, and what to use instead. automatic:
    whether Auto may be it, as it writes nothing but a table of our own.
    """

    name: ClassVar[str]
    writer: ClassVar[type[Writer]]
    about: ClassVar[str]
    taints: ClassVar[bool] = False
    requires: ClassVar[bool] = True
    one_at_a_time: ClassVar[bool] = False
    extends: ClassVar[bool] = False
    since: ClassVar[int] = 0
    before: ClassVar[str] = ""
    automatic: ClassVar[bool] = False

    def __init__(self, port: Port) -> None:
        self._port = port

    @classmethod
    def impossible(
        cls, snapshot: Snapshot, _declared: Sequence[Scheduler], _strengths: Sequence[Strength]
    ) -> Iterator[str]:
        """Why the cluster cannot be steered so, as far as the snapshot and declarations show."""
        minor = minor_of(snapshot.cluster.version)
        if minor is not None and minor < cls.since:
            yield f"kube-apiserver {snapshot.cluster.version} {cls.before}"

    @abstractmethod
    def ready(self, declared: Sequence[Scheduler]) -> Problem | None:
        """Why it is not set up (STR001), as far as reading shows. declared: of the schedulers.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """

    @abstractmethod
    def confirm(self) -> Problem | None:
        """Why it is not seen to steer by what is written now; it waits a moment to see it.

        Raises:
            ActionError: as `ready`.
        """

    @abstractmethod
    def lingering_problem(self) -> Problem | None:
        """Why it may still steer by something that was taken out, or None.

        Raises:
            ActionError: as `ready`.
        """

    @abstractmethod
    def was_steered(self, move: PastMove) -> bool:
        """Whether the replacement was steered."""

    @abstractmethod
    def inspect_replacement(self, move: PastMove, steering: PastSteering, replacement: Pod) -> None:
        """Look at a replacement that is seen for the first time: whether it was steered at all."""

    def is_over(self, move: PastMove, steering: PastSteering) -> bool:
        """Whether the replacement is not steered any more, or needs no steering."""
        return self._port.clock() >= steering.until or not move.in_flight

    def finished_moves(self, moves: Sequence[SteeredMove]) -> list[SteeredMove]:
        """Those of these moves that need what was written for them no more."""
        return [
            (move, steering)
            for move, steering in moves
            if self.is_over(move, steering) or self.was_steered(move)
        ]

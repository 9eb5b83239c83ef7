"""Units: what is requested together, and what must hold of the whole of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rescheduler.acting.unit_requests import Evictions, Request, Restart
from rescheduler.model.moves.gates import Purpose
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Moves that are requested together: all intents are stored before the first request is sent.

    moves: in the order of their requests. request: how they are requested.
    whole: whether all of a gang is moved. One that is refused ends it, also after others were made:
    what was evicted comes back and completes the gang, and going on would split it no less, against
    what protects the pod that was refused.
    dependents: what must be possible too, and is tried in a dry run before the first request:
    anybody who may refuse there may know reasons that nothing shows that we read.
    role: what a dependent, or a member of a gang, is called beside its name.
    room: all moves that make room for the same gang; where one is not made, those after it are not
    tried.
    releases: the move whose Pending replacement is evicted.
    """

    moves: tuple[PlannedMove, ...]
    request: Request
    whole: bool = False
    dependents: tuple[PlannedMove, ...] = ()
    role: str = ""
    room: tuple[PlannedMove, ...] = ()
    releases: PastMove | None = None

    @property
    def purpose(self) -> Purpose:
        """What its evictions are for."""
        return "move" if self.releases is None else "release"

    @property
    def group(self) -> frozenset[str]:
        """UIDs of the pods of the gang that is moved as a whole."""
        return frozenset(move.pod.uid for move in self.moves) if self.whole else frozenset()

    @property
    def order(self) -> list[PlannedMove]:
        """The moves and their dependents, in their order."""
        return [*(move for move in self.moves if move not in self.dependents), *self.dependents]

    @property
    def rest(self) -> tuple[PlannedMove, ...]:
        """The moves that make room for the same gang, after these."""
        return self.room[self.room.index(self.moves[-1]) + 1 :] if self.room else ()

    def problem_of_move(self, move: PlannedMove, problem: Problem) -> Problem:
        """Why nothing is requested, with the pod that it is about."""
        if not self.role or not (self.whole or move in self.dependents):
            return problem
        return Problem(problem.code, f"{problem.message} ({name_of(move)}{self.role})")


def units_of(moves: Sequence[PlannedMove], batch: Sequence[PlannedMove]) -> Iterator[Unit]:
    """The units of one batch, in their order. moves: all of the plan that are to be made."""
    for group, members in groupby(batch, key=lambda move: move.group):
        if group:
            yield _gang(tuple(members))
            continue
        for move in members:
            if move.room:
                yield _room(move, tuple(one for one in moves if one.room == move.room))
            else:
                yield _chain(move, tuple(one for one in moves if move.pod.uid in one.after))


def release_of(move: PlannedMove, releases: PastMove) -> Unit:
    """The eviction of the replacement of this move, which stays Pending."""
    return Unit(moves=(move,), request=Evictions(), releases=releases)


def name_of(move: PlannedMove) -> str:
    """The pod of a move, as people name it."""
    return f"{move.pod.namespace}/{move.pod.name}"


def _gang(moves: tuple[PlannedMove, ...]) -> Unit:
    stops = moves[0].stops
    request = Evictions() if stops is None else Restart(stops)
    return Unit(moves=moves, request=request, whole=True, role=f" of {moves[0].group}")


def _room(move: PlannedMove, room: tuple[PlannedMove, ...]) -> Unit:
    """One of the moves that make room for a gang; with the first one all must be possible."""
    return Unit(
        moves=(move,),
        request=Evictions(),
        dependents=room if move == room[0] else (),
        role=f", one of the moves that make room for gang {move.room}",
        room=room,
    )


def _chain(move: PlannedMove, dependents: tuple[PlannedMove, ...]) -> Unit:
    """One move, and those that it makes room for."""
    return Unit(
        moves=(move,),
        request=Evictions(),
        dependents=dependents,
        role=", for which it makes room",
    )

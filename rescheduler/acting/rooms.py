"""Moves that make room, for a gang or for one pod: none is made where that is seen to be in vain.

Before the first eviction all that hang on it are asked for, each pod is read again, and its own
eviction is asked for in a dry run: who has a say there may know reasons that nothing shows that we
read, as admission that lets nobody evict in a namespace.
"""

from collections.abc import Sequence

from rescheduler.acting.actor import Actor
from rescheduler.acting.groups import GroupAttempts
from rescheduler.acting.halting import problem
from rescheduler.model.history import History
from rescheduler.model.plan import MoveResult, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.terms import NO_ROOM


class RoomAttempts(GroupAttempts):
    """Sends the evictions of one plan, and stops making room where nobody would get it."""

    def __init__(
        self, plan: str, actor: Actor, history: History, results: dict[str, MoveResult]
    ) -> None:
        """As `Attempts`."""
        super().__init__(plan, actor, history, results)
        self._begun: set[str] = set()
        self._given_up: set[str] = set()

    def attempt_before(self, move: PlannedMove, behind: Sequence[PlannedMove]) -> None:
        """Try one move, unless one of those that it makes room for may not be made.

        behind: these, in their order.

        Raises:
            Halted, ActionError, SourceError: as `attempt`.
        """
        self._keep_pace()
        refused = self._any_refused(behind, [move])
        if refused is not None:
            which, found = refused
            said = f"{found.message} ({_named(which)}, for which it makes room)"
            self._report(move, "refused", Problem(code=found.code, message=said))
            return
        self.attempt(move)

    def attempt_in_room(self, move: PlannedMove, room: Sequence[PlannedMove]) -> None:
        """Try one move of those that make room for a gang.

        Where one may not be moved, none is. Between them replacements are awaited as between any
        moves, as each was useful where it was. When one is not made, those after it are not tried:
        what was moved stays where it runs now, and the others are told why they stay.

        room: all moves of the plan for it, in their order.

        Raises:
            Halted, ActionError, SourceError: as `attempt`.
        """
        if move.room in self._given_up:
            return
        if move.room not in self._begun:
            refused = self._room_refused(room)
            if refused is not None:
                self._given_up.add(move.room)
                for each in room:
                    self._report(each, "refused", refused)
                return
            self._begun.add(move.room)
        try:
            self.attempt(move)
        finally:
            if self.results[move.pod.uid].result != "evicted":
                self._give_up(move, room)

    def _room_refused(self, room: Sequence[PlannedMove]) -> Problem | None:
        """Why one of these moves must not be made now, before any of them is."""
        found = self._begun_checks().check(room[0], [past for _, past in self.evicted])
        if isinstance(found, Problem):
            return _of(room[0], found)
        refused = self._any_refused(room)
        return None if refused is None else _of(*refused)

    def _any_refused(
        self, moves: Sequence[PlannedMove], before: Sequence[PlannedMove] = ()
    ) -> tuple[PlannedMove, Problem] | None:
        """Which of these must not be made now, and why. before: moves that come before them.

        The API server is asked about each alone: a dry run takes nothing from a budget, so that
        one which allows a single eviction passes them all. See kubernetes/kubernetes#79812.
        """
        planned = [*before, *moves]
        for place, move in enumerate(moves, len(before)):
            if (objection := self._objection(move, planned[:place])) is not None:
                return move, objection
        for move in moves:
            self._may_send()
            fresh = self._rereading.read(move.pod.namespace, move.pod.name)
            if isinstance(fresh, Problem):
                return move, fresh
            found = self._changed(move, fresh) or self._dry_run(move)
            if found is not None:
                return move, found
        return None

    def _dry_run(self, move: PlannedMove) -> Problem | None:
        """Why the API server would not evict this pod now, or gives no clear answer.

        As nothing was asked in earnest, no eviction is in doubt, and others are tried.
        """
        answer = self._actor.dry_run(move, self._plan, self._actor.ledger.fence)
        if answer.result == "evicted":
            return None
        if answer.result == "unknown":
            return problem("ACT008", f"A dry run was not answered: {answer.message}")
        self._bar(move, answer)
        return Problem(code=answer.code, message=answer.message)

    def _give_up(self, move: PlannedMove, room: Sequence[PlannedMove]) -> None:
        self._given_up.add(move.room)
        result = self.results[move.pod.uid]
        places = [each.pod.uid for each in room].index(move.pod.uid)
        made = sum(self.results[each.pod.uid].result == "evicted" for each in room)
        said = (
            f"{_named(move)} was not moved ({result.code}), so gang "
            f"{move.room} gets no room by this plan. Of its {len(room)} moves {made} were made "
            "before; they stay where they are."
        )
        for each in room[places + 1 :]:
            self._report(each, "skipped", problem(NO_ROOM, said))


def _of(move: PlannedMove, found: Problem) -> Problem:
    """Why no room is made, with the pod that it is about."""
    of = f"{_named(move)}, one of the moves that make room for gang {move.room}"
    return Problem(code=found.code, message=f"{found.message} ({of})")


def _named(move: PlannedMove) -> str:
    return f"{move.pod.namespace}/{move.pod.name}"

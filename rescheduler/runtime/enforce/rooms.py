"""Moves that make room for a gang: none is made where one may not be, and none after a failure."""

from collections.abc import Sequence

from rescheduler.model.history import History
from rescheduler.model.plan import MoveResult, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NO_ROOM
from rescheduler.runtime.enforce.actor import Actor
from rescheduler.runtime.enforce.attempt import problem
from rescheduler.runtime.enforce.groups import GroupAttempts


class RoomAttempts(GroupAttempts):
    """Sends the evictions of one plan, and stops making room where the gang would not get it."""

    def __init__(
        self, plan: str, actor: Actor, history: History, results: dict[str, MoveResult]
    ) -> None:
        """As `Attempts`."""
        super().__init__(plan, actor, history, results)
        self._begun: set[str] = set()
        self._given_up: set[str] = set()

    def attempt_in_room(self, move: PlannedMove, room: Sequence[PlannedMove]) -> None:
        """Try one move of those that make room for a gang.

        Before the first eviction all are checked, and each pod is read again: where one may not be
        moved, none is. Between them replacements are awaited as between any moves, as each was
        useful where it was. When one is not made, those after it are not tried: what was moved
        stays where it runs now, and the others are told why they stay.

        room: all moves of the plan for it, in their order.

        Raises:
            Halted, ActionError, SourceError: as `attempt`.
        """
        if move.room in self._given_up:
            return
        if move.room not in self._begun:
            refused = self._any_refused(room)
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

    def _any_refused(self, room: Sequence[PlannedMove]) -> Problem | None:
        """Why one of these moves must not be made now, before any of them is."""
        if self._checks is None:
            raise ValueError("no batch was begun")
        made = [past for _, past in self.evicted]
        for each in room:
            if (objection := self._objection(each)) is not None:
                return _of(each, objection)
        found = self._checks.check(room[0], made)
        if isinstance(found, Problem):
            return _of(room[0], found)
        for each in room:
            self._may_send()
            fresh = self._actor.reread(each.pod.namespace, each.pod.name)
            if (changed := self._changed(each, fresh)) is not None:
                return _of(each, changed)
        return None

    def _give_up(self, move: PlannedMove, room: Sequence[PlannedMove]) -> None:
        self._given_up.add(move.room)
        result = self.results[move.pod.uid]
        places = [each.pod.uid for each in room].index(move.pod.uid)
        made = sum(self.results[each.pod.uid].result == "evicted" for each in room)
        said = (
            f"{move.pod.namespace}/{move.pod.name} was not moved ({result.code}), so gang "
            f"{move.room} gets no room by this plan. Of its {len(room)} moves {made} were made "
            "before; they stay where they are."
        )
        for each in room[places + 1 :]:
            self._report(each, "skipped", problem(NO_ROOM, said))


def _of(move: PlannedMove, found: Problem) -> Problem:
    """Why no room is made, with the pod that it is about."""
    name = f"{move.pod.namespace}/{move.pod.name}"
    said = f"{found.message} ({name}, one of the moves that make room for gang {move.room})"
    return Problem(code=found.code, message=said)

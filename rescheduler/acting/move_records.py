"""What becomes of each move of a run: stored in the history, written to the trail, reported."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rescheduler.acting import trail_records
from rescheduler.acting.actor import Actor
from rescheduler.acting.halting import Halted
from rescheduler.acting.move_results import result_with_landing
from rescheduler.acting.unit_requests import MoveAttempt
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.model.errors import ActionError, LedgerFull, SourceError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import MoveResult, PlannedMove, Result
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem


class MoveRecords:
    """Keeps the history of the moves of one plan, and what is reported of each."""

    def __init__(
        self, plan: str, actor: Actor, history: History, results: dict[str, MoveResult]
    ) -> None:
        """plan: its id. history: as loaded in this lease transition; it is written through here.

        results: what has become of each move, by the UID of its pod; kept up to date here.
        """
        self.plan = plan
        self.history = history
        self.results = results
        self.evicted: list[tuple[PlannedMove, PastMove]] = []
        """What was evicted of this batch, each move with the landing as it was predicted then."""
        self._actor = actor

    @property
    def made(self) -> list[PastMove]:
        """The records of what was evicted of this batch."""
        return [past for _, past in self.evicted]

    def store(self, intents: Sequence[MoveAttempt]) -> Problem | None:
        """Store these intents; or why they do not fit into the state, which is as it was then.

        Raises:
            ActionError: whether they are stored is not known; the next run finds out.
        """
        before = list(self.history.moves)
        self.history.moves.extend(one.past for one in intents)
        try:
            self._actor.ledger.intend(self.history)
        except LedgerFull as error:
            self.history.moves[:] = before
            why = problem("ACT025", error.sentence)
            answer = EvictionAnswer("refused", why.code, why.message)
            for one in intents:
                self._actor.record(trail_records.answer_record(one.move, self.plan, answer))
            return why
        except ActionError:
            self.history.moves[:] = before
            raise
        return None

    def settle(self, part: Sequence[MoveAttempt], answer: EvictionAnswer) -> None:
        """Take an answer into the history, report it, and store it."""
        for one in part:
            self.record_answer(one, answer)
            if answer.result == "evicted":
                self.history.carry_out(one.past, answer.code, self._actor.clock())
                if not one.past.frees:
                    self.evicted.append((one.move, one.past))
            else:
                self._stays(one.past, answer)
                self._actor.steering.close([one.past])
        try:
            self._actor.ledger.write(self.history)
        finally:
            for one in part:
                self._actor.announce(one.move, self.results[one.move.pod.uid], self.plan)

    def record_answer(self, one: MoveAttempt, answer: EvictionAnswer) -> None:
        """Write down what was answered."""
        self._actor.record(trail_records.answer_record(one.move, self.plan, answer))
        self.report(one.move, answer.result, Problem(answer.code, answer.message))

    def _stays(self, past: PastMove, answer: EvictionAnswer) -> None:
        """Give the budgets of an intent back that was refused; one without an answer stays open."""
        if answer.result == "unknown":
            past.stay_unanswered()
            return
        refuse = past.break_off if answer.stops else past.refuse
        refuse(answer.code, self._actor.clock())

    def withdraw(self, intents: Iterable[MoveAttempt], code: str = "ACT010") -> None:
        """Give the budgets of these intents back: nothing was sent for them."""
        for one in intents:
            one.past.refuse(code, self._actor.clock())
        self._actor.steering.close(self.history.moves)
        if self._actor.lease.valid_for(self._actor.intervals.call):
            self._actor.ledger.write(self.history)

    @contextmanager
    def withdraw_on_stop(self, intents: Sequence[MoveAttempt]) -> Iterator[None]:
        """Give the budgets of these back where the run ends before their request."""
        try:
            yield
        except (Halted, SourceError):
            self.withdraw(intents)
            raise

    def leave(self, rest: Sequence[MoveAttempt], why: str) -> None:
        """Give the budgets of these back, which another one of their unit has ended."""
        if rest:
            self.withdraw(rest)
        for one in rest:
            self.report(one.move, "skipped", problem("ACT010", why))

    def refuse(self, moves: Iterable[PlannedMove], why: Problem) -> None:
        """Report of these that nothing was requested."""
        for move in moves:
            self.report(move, "refused", why)

    def report(self, move: PlannedMove, result: Result, code: Problem) -> None:
        """Report what has become of this one."""
        self.results[move.pod.uid] = MoveResult.from_move(move, result, code)

    def conclude(self) -> None:
        """Record where the replacements of this batch have landed, and report it as events."""
        for move, past in self.evicted:
            uid = move.pod.uid
            self.results[uid] = result_with_landing(self.results[uid], past)
            self._actor.announce(move, self.results[uid], self.plan)
        self.evicted = []
        self.history.trim_baselines()

"""The only code that evicts: gates, re-read, intent, steering, request, answer, in this order.

Of each unit, whatever it is: the gates of our own state and of the batch's snapshot; what its pods
depend on, read again; the intents stored, from when on budgets are charged; its replacements
steered; the gates of right before; the request, sent once; what was answered, stored. Whatever
fails on the way ends with no eviction.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from rescheduler.acting import trail_records
from rescheduler.acting.actor import Actor, Checks
from rescheduler.acting.gate_checks import Gates
from rescheduler.acting.halting import Halted
from rescheduler.acting.intents import intent_of
from rescheduler.acting.move_records import MoveRecords
from rescheduler.acting.replacements import follow, watch_closely
from rescheduler.acting.unit_requests import MoveAttempt
from rescheduler.acting.units import Unit, name_of
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.actions.seen_pod import SeenPod, was_evicted
from rescheduler.kube.pods.pod_state import has_ended
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ObjectUnreadable, SourceError
from rescheduler.model.moves.calibration import scheduler_version
from rescheduler.model.moves.gates import Purpose, gates_at
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG, problem
from rescheduler.planning.gates.context import PodContext
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.policies.terms import NO_ROOM

_GONE = f"{CATALOG['ACT001'].sentence} It was gone once its gang was broken up."


class Sender:
    """Sends the units of one plan, and has kept what becomes of them."""

    def __init__(self, actor: Actor, records: MoveRecords) -> None:
        """records: of the plan, and of the history as loaded in this lease transition."""
        self.actor = actor
        self.records = records
        self.guarded: datetime | None = None
        """When guards were checked last; None before they were."""
        self._gates = Gates(records.plan, actor, records.history)
        self._seen: Snapshot | None = None
        self._last: datetime | None = None
        self._given_up: set[str] = set()

    def look_at(self, snapshot: Snapshot) -> None:
        """Let what is sent from now on be judged by this snapshot."""
        self._seen = snapshot

    def begin(self, snapshot: Snapshot, batch: Sequence[PlannedMove]) -> None:
        """Begin a batch: its moves are checked against this snapshot. Raises: as `guard`."""
        self.look_at(snapshot)
        self._gates.begin(self._checks(snapshot))
        policies = self.actor.policies
        self.records.history.begin(
            baseline_of(snapshot, self.records.history, batch, self.records.plan, policies)
        )

    def guard(self, snapshot: Snapshot) -> None:
        """Ask the guards on this snapshot. Raises: Halted where one holds."""
        self._gates.guard(self._checks(snapshot))

    def send(self, unit: Unit) -> Problem | None:
        """Try one unit, and keep what came of it; answers why a gate let nothing be requested.

        Raises:
            Halted: the run must end; the results say what became of each move.
            ActionError, SourceError: a fault that ends the run; intents may stay open, and are
                closed by UID in the next run.
        """
        if unit.moves[0].pod.uid in self._given_up:
            return None
        try:
            return self._try_unit(unit)
        finally:
            if unit.rest and self.records.results[unit.moves[-1].pod.uid].result != "evicted":
                self._give_up(unit)

    def _try_unit(self, unit: Unit) -> Problem | None:
        self._keep_interval()
        # Where the others of the batch have landed decides where these can.
        follow(
            self.actor,
            self.records.history,
            [past for past in self.records.made if not past.landedOn],
        )
        moves = self._possible_moves(unit)
        ready_moves = moves if isinstance(moves, Problem) else self._all_possible(unit) or moves
        if isinstance(ready_moves, Problem):
            self.records.refuse(unit.moves, ready_moves)
            if unit.dependents:
                self.records.refuse(unit.rest, ready_moves)
                self._given_up.update(move.pod.uid for move in unit.rest)
            return ready_moves
        read = self._read(unit, unit.request.order_moves(ready_moves, self._snapshot()))
        intents = read if isinstance(read, Problem) else self._intend(unit, read)
        if isinstance(intents, Problem):
            self.records.refuse(unit.moves, intents)
            return intents
        return self._request_all(unit, intents)

    def _possible_moves(self, unit: Unit) -> list[PlannedMove] | Problem:
        """The moves as they stand on the batch's snapshot; or why one must not be made."""
        ready: list[PlannedMove] = []
        made = self.records.made
        for number, move in enumerate(unit.moves):
            context = self._context(unit, move, earlier=unit.moves[:number])
            outcome = self._gates.at_plan(replace(context, made=made))
            if isinstance(outcome, Problem):
                return unit.problem_of_move(move, outcome)
            ready.append(outcome)
        return ready

    def _all_possible(self, unit: Unit) -> Problem | None:
        """Why one of the dependents must not be evicted now."""
        order = unit.order
        for move in unit.dependents:
            earlier = order[: order.index(move)]
            outcome = self._gates.at_plan(self._context(unit, move, "dependent", earlier))
            if isinstance(outcome, Problem):
                return unit.problem_of_move(move, outcome)
        if not unit.dependents:
            return None
        read = self._read(unit, unit.dependents, purpose="dependent")
        return read if isinstance(read, Problem) else None

    def _read(
        self,
        unit: Unit,
        moves: Sequence[PlannedMove],
        before: Snapshot | None = None,
        *,
        broken: bool = False,
        purpose: Purpose | None = None,
    ) -> list[MoveAttempt] | Problem:
        """What these moves depend on, read now; or why one of them must not be made.

        before: what was read before their intents, once these are stored. broken: whether one of
        their unit was evicted. A pod that is gone by itself then left with its gang.
        """
        steps: list[MoveAttempt] = []
        for step in unit.request.read(self._gates.reader, moves, self._snapshot(), before):
            steps.append(step)
            if broken and _is_gone_with_gang(step):
                continue
            if not broken:
                self._look_at_lost(step.move)
            outcome = self._gates.at_read(self._context_of(unit, step, purpose, broken=broken))
            if isinstance(outcome, Problem):
                return unit.problem_of_move(step.move, outcome)
        return steps

    def _look_at_lost(self, move: PlannedMove) -> None:
        """One that was lost holds its slot from when its replacement is Ready until it stays so."""
        ours = (past for past in self.records.history.moves if past.workload == move.owner.uid)
        lost = [past for past in ours if past.state == "lost" and past.earlierPods]
        if lost and follow(self.actor, self.records.history, lost):
            self.actor.ledger.write(self.records.history)

    def _context_of(
        self, unit: Unit, step: MoveAttempt, purpose: Purpose | None = None, *, broken: bool = False
    ) -> PodContext:
        context = self._context(unit, step.move, purpose)
        return replace(
            context, read_result=step.snapshot_or_problem, began=step.began, broken=broken
        )

    def _context(
        self,
        unit: Unit,
        move: PlannedMove,
        purpose: Purpose | None = None,
        earlier: Sequence[PlannedMove] = (),
    ) -> PodContext:
        actor = self.actor
        return PodContext(
            move=move,
            before=self._snapshot(),
            limits=actor.limits,
            history=self.records.history,
            plan=self.records.plan,
            at=actor.clock(),
            earlier=earlier,
            group=unit.group,
            releases=unit.releases,
            purpose=purpose or unit.purpose,
            schedulers=actor.schedulers,
            refusals=self._gates.barred,
        )

    def _intend(self, unit: Unit, read: Sequence[MoveAttempt]) -> list[MoveAttempt] | Problem:
        """Store what we are about to do; from here on the budgets are charged. Or why not.

        Raises:
            ActionError: nothing was sent. Whether the intents are stored is not known; the next run
                finds out.
        """
        intents = [self._with_intent(unit, step) for step in read]
        for one in intents:
            self.actor.record(trail_records.intent(one.move, one.past))
        steps = {"room in the state": self.records.store, "steered": self._steer}
        for gate in gates_at("intent", unit.purpose):
            refused = steps[gate.name](intents)
            if refused is not None:
                if any(past is intents[0].intent for past in self.records.history.moves):
                    self.records.withdraw(intents, refused.code)
                return refused
        return intents

    def _with_intent(self, unit: Unit, step: MoveAttempt) -> MoveAttempt:
        seen = self._snapshot()
        past = intent_of(
            step.move,
            step.read,
            self.actor,
            plan=self.records.plan,
            scheduler=scheduler_version(seen.cluster.version),
            seen=seen,
            releases=unit.releases,
        )
        return replace(step, intent=past)

    def _steer(self, intents: Sequence[MoveAttempt]) -> Problem | None:
        """Why their replacements cannot be steered, so that nothing is evicted."""
        unsteered = self.actor.steering.enter(self.records.history, [one.past for one in intents])
        return None if unsteered is None else problem(unsteered.code, unsteered.message)

    def _request_all(self, unit: Unit, intents: list[MoveAttempt]) -> Problem | None:
        """Request these one after the other, or at once; the first that is refused ends it.

        Answers why nothing was requested, where a gate refused the first of them.
        """
        rest, begun, refused = list(intents), False, None
        while rest:
            part = rest if unit.request.together else rest[:1]
            answer = self._request(unit, part, rest, begun=begun)
            after = rest[len(part) :]
            if answer is None and not begun:
                result = self.records.results[part[0].move.pod.uid]
                refused = Problem(result.code, result.message)
            if answer is None or answer.result != "evicted":
                self.records.leave(after, f"{name_of(part[0].move)} of its gang stays.")
                rest = []
            else:
                begun, rest = True, after
            if not rest:
                watch_closely(self.actor, self.records.history, part[-1].past)
            if answer is not None:
                self._obey(part[0].move, answer)
        return refused

    def _request(
        self, unit: Unit, part: Sequence[MoveAttempt], rest: Sequence[MoveAttempt], *, begun: bool
    ) -> EvictionAnswer | None:
        """One request, with one more try where the API server says when; None: a gate forbids it.

        Meanwhile its intent stays stored. What others of the unit were read by before may be old:
        then it is read again.
        """
        again = unit.request.together or len(unit.moves) > 1
        answer = self._try(unit, part, rest, again=again, begun=begun)
        wait = None if answer is None else answer.retry_after
        if answer is not None and wait is not None and wait <= self.actor.intervals.retry_cap:
            with self.records.withdraw_on_stop(rest):
                self._wait_for_server(part, answer, wait)
            answer = self._try(unit, part, rest, again=True, begun=begun)
        if answer is not None:
            self.records.settle(part, answer)
        return answer

    def _wait_for_server(
        self, part: Sequence[MoveAttempt], answer: EvictionAnswer, wait: float
    ) -> None:
        """Wait as long as the API server wants, and look whether we still may act."""
        for one in part:
            self.records.record_answer(one, answer)
        self.actor.sleep(wait)
        self._keep_interval()
        self._gates.ready()
        for one in part:
            self.actor.record(trail_records.intent(one.move, one.past))
        # Somebody may have paused us, or taken the lock: a write finds out.
        self.actor.ledger.write(self.records.history)

    def _try(
        self,
        unit: Unit,
        part: Sequence[MoveAttempt],
        rest: Sequence[MoveAttempt],
        *,
        again: bool,
        begun: bool,
    ) -> EvictionAnswer | None:
        """Ask the gates of right before, and send once; None where one of them refuses."""
        with self.records.withdraw_on_stop(rest):
            outcome = self._gate_request(unit, part, again=again, begun=begun)
        return (
            self._send_once(unit, part, outcome.read)
            if isinstance(outcome, MoveAttempt)
            else outcome
        )

    def _gate_request(
        self, unit: Unit, part: Sequence[MoveAttempt], *, again: bool, begun: bool
    ) -> MoveAttempt | EvictionAnswer | None:
        """What was read right before, where the request may be sent by it; None: it must not be.

        An answer: nothing has to be requested, as the pod left with its gang.
        """
        moves = [one.move for one in part]
        read = self._read(unit, moves, part[0].read, broken=begun) if again else part
        if isinstance(read, Problem):
            self.records.withdraw(part)
            self.records.refuse(moves, read)
            return None
        if begun and all(map(_is_gone_with_gang, read)):
            return EvictionAnswer("evicted", "ACT001", _GONE)
        oldest = min(read, key=lambda step: step.began)
        outcome = self._gates.at_request(self._context_of(unit, oldest))
        if isinstance(outcome, Problem):
            self.records.withdraw(part)
            self.records.refuse(moves, unit.problem_of_move(oldest.move, outcome))
            return None
        return oldest

    def _send_once(self, unit: Unit, part: Sequence[MoveAttempt], read: Snapshot) -> EvictionAnswer:
        """Send one request, once; where it is not answered, find out whether it took effect."""
        actor, moves = self.actor, [one.move for one in part]
        answer = unit.request.send(actor, self.records.plan, moves, read)
        self._last = actor.clock()  # a request may be carried out as late as it is answered
        if answer.result != "unknown":
            return answer
        first = part[0]
        return self._found_out(
            answer, lambda: unit.request.effect(actor, first.move, first.past.at)
        )

    def _found_out(self, answer: EvictionAnswer, look: Callable[[], str]) -> EvictionAnswer:
        """Find out whether a request of unknown result took effect; it is never sent again.

        look: reads what the request was about, and says what it did, or "" where it shows nothing.
        The server has answered where it refused the request and a look at this one pod: then its
        workload is held alone, as the intent stays open.
        """
        unread = ""
        for pause in self.actor.intervals.resolve:
            try:
                done, unread = look(), ""
            except SourceError as error:
                unread = error.sentence if isinstance(error, ObjectUnreadable) else ""
                self.actor.sleep(pause)
                continue
            if done:
                said = f"{done} No clear answer came ({answer.message})."
                return EvictionAnswer("evicted", "ACT001", said)
            if answer.otherwise:
                return EvictionAnswer("refused", answer.otherwise, answer.message)
            self.actor.sleep(pause)
        if unread and answer.otherwise:
            return replace(answer, message=f"{answer.message} {unread}", alone=True)
        return answer

    def _obey(self, move: PlannedMove, answer: EvictionAnswer) -> None:
        """Draw the conclusions for the moves to come. Raises: Halted where none may come."""
        self._gates.bar(move, answer)
        if answer.stops or (answer.result == "unknown" and not answer.alone):
            raise Halted(answer.code, answer.message)

    def _give_up(self, unit: Unit) -> None:
        """Say of the moves that make room with this one, and come after it, why they stay."""
        remaining_moves = [move for move in unit.rest if move.pod.uid not in self._given_up]
        self._given_up.update(move.pod.uid for move in remaining_moves)
        move, result = unit.moves[-1], self.records.results[unit.moves[-1].pod.uid]
        made = sum(self.records.results[one.pod.uid].result == "evicted" for one in unit.room)
        said = (
            f"{name_of(move)} was not moved ({result.code}), so gang "
            f"{move.room} gets no room by this plan. Of its {len(unit.room)} moves {made} were "
            "made before; they stay where they are."
        )
        for one in remaining_moves:
            self.records.report(one, "skipped", problem(NO_ROOM, said))

    def _keep_interval(self) -> None:
        """Wait until enough time has passed since the last request."""
        if self._last is not None:
            since = (self.actor.clock() - self._last).total_seconds()
            if since < self.actor.intervals.gap:
                self.actor.sleep(self.actor.intervals.gap - max(since, 0.0))

    def _checks(self, snapshot: Snapshot) -> Checks:
        checks = self.actor.recheck(snapshot, self.records.history)
        self.guarded = self.actor.clock()
        return checks

    def _snapshot(self) -> Snapshot:
        """The snapshot of the batch that was begun."""
        if self._seen is None:
            raise ValueError("no batch was begun")
        return self._seen


def _is_gone_with_gang(step: MoveAttempt) -> bool:
    """Whether the pod went with those of its gang that were evicted, and needs no eviction."""
    if isinstance(step.snapshot_or_problem, Problem):
        return False
    pods = (pod for pod in step.snapshot_or_problem.pods if pod.metadata.name == step.move.pod.name)
    pod = next(pods, None)
    seen = None if pod is None else SeenPod.from_pod(pod)
    return was_evicted(seen, step.move.pod.uid) or (pod is not None and has_ended(pod))

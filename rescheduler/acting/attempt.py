"""The attempts of one run: each at most one eviction, gated, charged before it is sent."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from rescheduler.acting import trail_records
from rescheduler.acting.actor import Actor, Checks
from rescheduler.acting.concluding import concluded
from rescheduler.acting.drifting import drifted
from rescheduler.acting.halting import Halted, problem
from rescheduler.acting.intents import intent_of
from rescheduler.acting.replacements import (
    MOST_KNOWN,
    follow,
    of_controller,
    selector_of,
    watch_closely,
)
from rescheduler.acting.rereading import Rereading, unread
from rescheduler.acting.sparing import not_spared
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.actions.seen_pod import older, was_evicted
from rescheduler.model.calibration import scheduler_version
from rescheduler.model.errors import ActionError, LedgerFull, ObjectUnreadable, SourceError
from rescheduler.model.history import History, PastMove
from rescheduler.model.plan import MoveResult, PlannedMove, Result
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.limits.move_limits import MoveLimits
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.plan.surroundings import Around, refuse_changed
from rescheduler.steering.steering import close, enter

FRESH = 5.0
"""Seconds that what an eviction hangs on may be old when it is sent."""


class Attempts:
    """Sends evictions for one plan, and keeps the history of them."""

    def __init__(
        self, plan: str, actor: Actor, history: History, results: dict[str, MoveResult]
    ) -> None:
        """plan: its id. history: as loaded in this lease transition; it is written through here.

        results: what has become of each move, by the UID of its pod; kept up to date here.
        """
        self.history = history
        self.results = results
        self.evicted: list[tuple[PlannedMove, PastMove]] = []
        """What was evicted of this batch, each move with the landing as it was predicted then."""
        self._plan = plan
        self._actor = actor
        self._scheduler = ""
        self._snapshot: Snapshot | None = None
        self._checks: Checks | None = None
        self.guarded: datetime | None = None
        """When guards were asked last; None before they were."""
        self._last: datetime | None = None
        self._barred: dict[tuple[str, str], Problem] = {}
        self._rereading = Rereading(actor)

    def begin(self, snapshot: Snapshot, batch: Sequence[PlannedMove]) -> None:
        """Begin a batch: its moves are checked against this snapshot. Raises: as `guard`."""
        self._scheduler = scheduler_version(snapshot.cluster.version)
        self._snapshot = snapshot
        self._checks = self.guard(snapshot)
        policies = self._actor.policies
        self.history.begin(baseline_of(snapshot, self.history, batch, self._plan, policies))

    def guard(self, snapshot: Snapshot) -> Checks:
        """Ask the guards on this snapshot. Raises: Halted where one holds."""
        checks, self.guarded = self._actor.recheck(snapshot, self.history), self._actor.clock()
        for guard in checks.guards():
            raise Halted(guard.code, guard.message)
        return checks

    def attempt(self, move: PlannedMove) -> None:
        """Try one move, and keep what came of it.

        Raises:
            Halted: the run must end; the results say what became of the move.
            ActionError, SourceError: a fault that ends the run; an intent may stay open, and is
                closed by UID in the next run.
        """
        checks = self._begun_checks()
        self._keep_pace()
        made = [past for _, past in self.evicted]
        # Where the others of the batch have landed decides where this one can.
        follow(self._actor, self.history, [past for past in made if not past.landedOn])
        fresh = self._objection(move) or checks.check(move, made)
        if isinstance(fresh, Problem):
            self._report(move, "refused", fresh)
            return
        # What an outcome is measured against is what was predicted when the eviction was sent.
        answer = self._ask(fresh)
        wait = None if answer is None else answer.retry_after
        if answer is not None and wait is not None and wait <= self._actor.pace.retry_cap:
            self._actor.sleep(wait)
            self._keep_pace()
            answer = self._ask(fresh)
        if answer is not None:
            watch_closely(self._actor, self.history, self.history.moves[-1])
            self._heed(fresh, answer)

    def conclude(self) -> None:
        """Record where the replacements of this batch have landed, and report it as events."""
        for move, past in self.evicted:
            uid = move.pod.uid
            self.results[uid] = concluded(self.results[uid], past)
            self._actor.announce(move, self.results[uid], self._plan)
        self.evicted = []
        self.history.trim_baselines()

    def _seen(self) -> Snapshot:
        """The snapshot of the batch that was begun."""
        if self._snapshot is None:
            raise ValueError("no batch was begun")
        return self._snapshot

    def _begun_checks(self) -> Checks:
        """The checks of moves against that snapshot."""
        if self._checks is None:
            raise ValueError("no batch was begun")
        return self._checks

    def _report(self, move: PlannedMove, result: Result, code: Problem) -> None:
        self.results[move.pod.uid] = MoveResult.of(move, result, code)

    def _objection(self, move: PlannedMove, earlier: Sequence[PlannedMove] = ()) -> Problem | None:
        """Why our own budgets and what was answered before forbid it, whatever the snapshot shows.

        The re-check covers these too; they are held here once more because they must hold.
        earlier: moves that it hangs on and that come before it, of which none is charged yet; those
        of one group and workload are one move to the limits of that.
        """
        namespace = move.pod.namespace
        budget = move.budget.name if move.budget else ""
        barred = self._barred.get((namespace, "")) or self._barred.get((namespace, budget))
        if barred is not None:
            return barred
        limits, history = self._actor.limits, self.history
        if any(past.charged and past.podUid == move.pod.uid for past in history.moves):
            return problem("ELG022", f"Pod {move.pod.uid} was evicted before.")
        if history.in_flight(move.owner.uid) >= limits.inFlightPerWorkload:
            return problem("ELG022", f"inFlightPerWorkload is {limits.inFlightPerWorkload}.")
        allowed = MoveLimits(self._seen(), limits, history, self._actor.clock(), self._plan)
        follows = bool(move.group) and any(each.owner.uid == move.owner.uid for each in earlier)
        full = allowed.closed(len(earlier)) or allowed.refusal(
            allowed.of_move(move), map(allowed.of_move, earlier), follows=follows
        )
        return None if full is None else problem(full.code, full.message)

    def _ask(self, move: PlannedMove) -> EvictionAnswer | None:
        """One request with all its gates; None when the pod itself forbids it."""
        actor = self._actor
        self._may_send()
        began = actor.steady()
        read = self._rereading.read(move.pod.namespace, move.pod.name)
        fresh = self._as_read(move, read, began)
        if isinstance(fresh, Problem):
            self._report(move, "refused", fresh)
            return None
        intents = self._intend([(move, fresh)])
        if not intents:
            return None
        (past,) = intents
        try:
            self._may_send()
            self._is_fresh(move, actor.steady() - began)
        except Halted:
            self._withdraw([past])
            raise
        return self._send(move, past)

    def _as_read(
        self,
        move: PlannedMove,
        fresh: Snapshot | Problem,
        began: float,
        group: frozenset[str] = frozenset(),
        *,
        broken: bool = False,
    ) -> Snapshot | Problem:
        """What was read since then right before the request; or why it must not be made.

        group, broken: as in `_changed`.
        """
        if isinstance(fresh, Problem):
            return fresh
        changed = self._changed(move, fresh, group, broken=broken)
        age = self._actor.steady() - began
        return changed or self._rereading.late(move.pod.namespace, move.pod.name, age) or fresh

    def _withdraw(self, intents: Iterable[PastMove], code: str = "ACT010") -> None:
        """Give the budgets of these intents back: nothing was sent for them."""
        for past in intents:
            past.refuse(code, self._actor.clock())
        close(self._actor, self.history.moves)
        if self._actor.lease.valid_for(self._actor.pace.call):
            self._actor.ledger.write(self.history)

    def _send(self, move: PlannedMove, past: PastMove) -> EvictionAnswer:
        """Send one eviction whose intent is stored, and keep what came of it."""
        actor = self._actor
        self._last = actor.clock()
        answer = actor.evict(move, self._plan, actor.ledger.fence)
        if answer.result == "unknown":
            answer = self._resolved(move, past.at, answer)
        self._answered(move, past, answer)
        return answer

    def _answered(self, move: PlannedMove, past: PastMove, answer: EvictionAnswer) -> None:
        self._keep(move, past, answer)
        self._actor.announce(move, self.results[move.pod.uid], self._plan)
        self._actor.ledger.write(self.history)

    def _keep(self, move: PlannedMove, past: PastMove, answer: EvictionAnswer) -> None:
        """Take an answer into the history, which is to be stored then."""
        self._actor.record(trail_records.answered(move, self._plan, answer))
        self._report(move, answer.result, Problem(code=answer.code, message=answer.message))
        if answer.result == "evicted":
            past.state, past.code = "evicted", answer.code
            self.evicted.append((move, past))
        else:
            self._stays(past, answer)
            close(self._actor, [past])

    def _stays(self, past: PastMove, answer: EvictionAnswer) -> None:
        """Give the budgets of an intent back that was refused; one without an answer stays open."""
        if answer.result == "unknown":
            past.brokeOff = True
            return
        refuse = past.break_off if answer.stops else past.refuse
        refuse(answer.code, self._actor.clock())

    def _keep_pace(self) -> None:
        if self._last is not None:
            since = (self._actor.clock() - self._last).total_seconds()
            if since < self._actor.pace.gap:
                self._actor.sleep(self._actor.pace.gap - max(since, 0.0))

    def _may_send(self) -> None:
        actor = self._actor
        reason = actor.stop()
        if reason:
            raise Halted("ACT014", reason)
        if actor.ledger.paused:
            raise Halted("GRD006")
        if not actor.lease.valid_for(actor.pace.call):
            raise Halted("ACT015", "The lease is not sure to outlast an eviction.")

    def _is_fresh(self, move: PlannedMove, age: float) -> None:
        """Stop where more than `FRESH` seconds have passed since the pod was read again.

        The kill switch was read later, with the intent that was written since.
        """
        if age > FRESH:
            name = f"{move.pod.namespace}/{move.pod.name}"
            raise Halted(
                "ACT016",
                f"What pod {name} hangs on was read {age:.1f} s ago, and at most {FRESH:.0f} s may "
                "pass until its eviction: the API server is slow.",
            )

    def _changed(
        self,
        move: PlannedMove,
        fresh: Snapshot,
        group: frozenset[str] = frozenset(),
        *,
        broken: bool = False,
    ) -> Problem | None:
        """Why what was read right before the request forbids it; group, broken: as in `Around`."""
        seen = self._seen()
        named = (pod for pod in fresh.pods if pod.metadata.name == move.pod.name)
        drift = drifted(move, next(named, None), broken=broken)
        if drift is None and move.gangMinimum is not None:
            try:
                beside = self._actor.pods(move.pod.namespace, "", "")
            except ObjectUnreadable as error:
                return unread(move.pod.namespace, move.pod.name, error)
            drift = not_spared(move, move.gangMinimum, beside)
        if drift is not None:
            return drift
        if len(of_controller(move, fresh.pods)) > MOST_KNOWN:
            said = f"Its controller has more than {MOST_KNOWN} pods, too many to tell apart."
            return problem("DRF006", said)
        uid, history = move.owner.uid, self.history
        # One that was lost holds its slot from when its replacement is Ready until it stays so.
        lost = [e for e in history.moves if e.state == "lost" and e.workload == uid and e.known]
        if lost and not broken and follow(self._actor, history, lost):
            self._actor.ledger.write(history)
        limits = self._actor.limits
        names = self._actor.schedulers
        around = Around(seen, fresh, limits, history, self._plan, group, broken, names)
        refusal = refuse_changed(move, around)
        if refusal is None and not selector_of(move, fresh):
            return problem("DRF006", "The pods of its controller cannot be listed by a selector.")
        return refusal

    def _intend(self, moves: Sequence[tuple[PlannedMove, Snapshot]]) -> list[PastMove]:
        """Store what we are about to do; from here on the budgets are charged.

        Each move comes with what was read right before, with all pods of the controller. None are
        answered where they do not fit into the state, or their replacements cannot be steered, so
        that nothing may be done.
        """
        intend = partial(
            intent_of,
            actor=self._actor,
            plan=self._plan,
            scheduler=self._scheduler,
            seen=self._snapshot,
        )
        intents = [intend(move, fresh) for move, fresh in moves]
        for (move, _), past in zip(moves, intents, strict=True):
            self._actor.record(trail_records.intent(move, past))
        before = list(self.history.moves)
        self.history.moves.extend(intents)
        try:
            self._actor.ledger.intend(self.history)
        except LedgerFull as error:
            self.history.moves[:] = before
            for move, _ in moves:
                self._full(move, error)
            return []
        except ActionError:
            # Nothing was sent. Whether they are stored is not known; the next run finds out.
            self.history.moves[:] = before
            raise
        unsteered = enter(self._actor, self.history, intents)
        if unsteered is not None:
            self._withdraw(intents, unsteered.code)
            for move, _ in moves:
                self._report(move, "refused", problem(unsteered.code, unsteered.message))
            return []
        return intents

    def _full(self, move: PlannedMove, error: LedgerFull) -> Problem:
        """Refuse a move whose intent does not fit into the state, which is as it was."""
        why = problem("ACT025", error.sentence)
        answer = EvictionAnswer("refused", why.code, why.message)
        self._actor.record(trail_records.answered(move, self._plan, answer))
        self._report(move, "refused", why)
        return why

    def _resolved(self, move: PlannedMove, at: datetime, answer: EvictionAnswer) -> EvictionAnswer:
        """What became of an eviction of that intent that was not answered, by the pod's UID."""

        def look() -> str:
            found = self._actor.pod(move.pod.namespace, move.pod.name)
            evicted = was_evicted(found, move.pod.uid) and not older(found, move.pod.uid, at)
            return CATALOG["ACT001"].sentence if evicted else ""

        return self._found_out(answer, look)

    def _found_out(self, answer: EvictionAnswer, look: Callable[[], str]) -> EvictionAnswer:
        """Find out whether an unanswered request took effect; it is never sent again.

        look: reads what the request was about, and says what it did, or "" where it shows nothing.
        """
        for pause in self._actor.pace.resolve:
            try:
                done = look()
            except SourceError:
                done = ""
            if done:
                said = f"{done} No answer came ({answer.message})."
                return EvictionAnswer("evicted", "ACT001", said)
            self._actor.sleep(pause)
        return answer

    def _heed(self, move: PlannedMove, answer: EvictionAnswer) -> None:
        """Draw the conclusions for the moves to come. Raises: Halted where none may come."""
        self._bar(move, answer)
        if answer.stops or answer.result == "unknown":
            raise Halted(answer.code, answer.message)

    def _bar(self, move: PlannedMove, answer: EvictionAnswer) -> None:
        """Ask no more for what was refused to all of a namespace, or of a budget."""
        code = Problem(code=answer.code, message=answer.message)
        if answer.code == "ACT007":
            self._barred[move.pod.namespace, ""] = code
        elif answer.code == "ACT004" and move.budget is not None:
            self._barred[move.pod.namespace, move.budget.name] = code

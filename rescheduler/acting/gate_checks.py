"""Checks the gates of `model/moves/gates` while acting, in their order, at the API server.

What follows from what was read is worked out in `planning/gates`; here is what asks the API server.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rescheduler.acting.actor import Actor, Checks
from rescheduler.acting.halting import Halted
from rescheduler.acting.pod_reader import PodReader, unreadable_pod
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.model.errors import ActionError, LockLost, ObjectUnreadable
from rescheduler.model.moves.gates import Gate, gates_at
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.gates.context import PodContext
from rescheduler.planning.gates.gang_surplus import gang_has_surplus
from rescheduler.planning.gates.gate_functions import PURE

FRESH = 5.0
"""Seconds that what an eviction depends on may be old when it is requested."""


_AnyTime = Callable[[], Problem | None]
_OfBatch = Callable[[Checks], Problem | None]
_OfMove = Callable[[PodContext], PlannedMove | Problem | None]


class Gates:
    """Asks the gates, each at its moment; keeps what the API server refused in this run."""

    def __init__(self, plan: str, actor: Actor, history: History) -> None:
        """plan: its id."""
        self._plan = plan
        self._actor = actor
        self.reader = PodReader(actor, self.ready, history)
        self.barred: dict[tuple[str, str], Problem] = {}
        self._checks: Checks | None = None
        self._latest: Checks | None = None
        self._any_time: Mapping[str, _AnyTime] = {
            "running": self._not_stopped,
            "not paused": self._not_paused,
            "lock": self._lock,
        }
        self._of_batch: Mapping[str, _OfBatch] = {
            "guards": self._guards,
        }
        self._of_move: Mapping[str, _OfMove] = {
            "steered no more": self._steered_no_more,
            "not held": self._not_held,
            "worth it": self._worth_it,
            "readable": self._readable,
            "gang can spare it": self._gang_can_spare,
            "read in time": self._read_in_time,
            "dry run": self._dry_run,
            "fresh": self._fresh,
        }

    def ready(self) -> None:
        """Ask those that hold at any time. Raises: Halted."""
        for gate in gates_at("any time", "move"):
            _refuse_or_halt(gate, self._any_time[gate.name]())

    def begin(self, checks: Checks) -> None:
        """Begin a batch, whose moves are checked against it. Raises: Halted, as `guard`."""
        self._checks = checks
        self.guard(checks)

    def guard(self, checks: Checks) -> None:
        """Ask those of a fresh snapshot, whose holds count from now on.

        Raises:
            Halted: one of them holds everybody.
        """
        self._latest = checks
        for gate in gates_at("batch", "move"):
            _refuse_or_halt(gate, self._of_batch[gate.name](checks))

    def at_plan(self, context: PodContext) -> PlannedMove | Problem:
        """The move as it stands on the batch's snapshot; or why it must not be made."""
        return self._ask(gates_at("plan", context.purpose), context)

    def at_read(self, context: PodContext) -> PlannedMove | Problem:
        """The move where what was read lets it be made; or why not. Raises: as the reads."""
        return self._ask(gates_at("read", context.purpose), context)

    def at_request(self, context: PodContext) -> PlannedMove | Problem:
        """The move where it may be requested right now; or why not. Raises: Halted."""
        self.ready()
        return self._ask(gates_at("request", context.purpose), context)

    def bar(self, move: PlannedMove, answer: EvictionAnswer) -> None:
        """Ask no more for what was refused to all of a namespace, or of a budget."""
        refusal = Problem(code=answer.code, message=answer.message)
        if answer.code == "ACT007":
            self.barred[move.pod.namespace, ""] = refusal
        elif answer.code == "ACT004" and move.budget is not None:
            self.barred[move.pod.namespace, move.budget.name] = refusal

    def _ask(self, gates: Sequence[Gate], context: PodContext) -> PlannedMove | Problem:
        """The first refusal, or the move as the last gate left it."""
        for gate in gates:
            own = self._of_move.get(gate.name)
            outcome = PURE[gate.name](context) if own is None else own(context)
            if isinstance(outcome, PlannedMove):
                context = replace(context, move=outcome)
            elif (refusal := _refuse_or_halt(gate, outcome)) is not None:
                return refusal
        return context.move

    def _not_stopped(self) -> Problem | None:
        reason = self._actor.stop()
        return Problem("ACT014", reason) if reason else None

    def _not_paused(self) -> Problem | None:
        return Problem("GRD006", "") if self._actor.ledger.paused else None

    def _lock(self) -> Problem | None:
        if self._actor.lease.valid_for(self._actor.intervals.call):
            return None
        return Problem("ACT015", "The lease is not sure to outlast an eviction.")

    def _guards(self, checks: Checks) -> Problem | None:
        return next(iter(checks.guards()), None)

    def _steered_no_more(self, context: PodContext) -> Problem | None:
        past = context.releases
        if past is None or past.steered is None:
            return None
        try:
            return self._actor.steering.lingering_problem(past.steered.by)
        except LockLost:
            raise
        except ActionError as error:
            return problem("STR004", error.sentence)

    def _not_held(self, context: PodContext) -> Problem | None:
        return None if self._latest is None else self._latest.refuse_held(context.move)

    def _worth_it(self, context: PodContext) -> PlannedMove | Problem:
        if self._checks is None:
            raise ValueError("no batch was begun")
        return self._checks.check(context.move, context.made)

    def _readable(self, context: PodContext) -> Problem | None:
        return context.read_result if isinstance(context.read_result, Problem) else None

    def _gang_can_spare(self, context: PodContext) -> Problem | None:
        move = context.move
        if move.gangMinimum is None:
            return None
        try:
            pods = self._actor.pods(move.pod.namespace, "", "")
        except ObjectUnreadable as error:
            return unreadable_pod(move.pod.namespace, move.pod.name, error)
        return gang_has_surplus(replace(context, namespace_pods=pods))

    def _read_in_time(self, context: PodContext) -> Problem | None:
        pod = context.move.pod
        return self.reader.late(pod.namespace, pod.name, self._actor.steady() - context.began)

    def _dry_run(self, context: PodContext) -> Problem | None:
        """Why the API server would not evict this pod now, or gives no clear answer.

        A dry run takes nothing from a budget, so that one which allows a single eviction passes
        all dependents: see kubernetes/kubernetes#79812. As nothing was requested in earnest, no
        eviction is in doubt, and others are tried.
        """
        move = context.move
        answer = self._actor.dry_run(move, self._plan, self._actor.ledger.fence)
        if answer.result == "evicted":
            return None
        if answer.otherwise:
            return Problem(answer.otherwise, answer.message)
        if answer.result == "unknown":
            return problem("ACT008", f"A dry run was not answered: {answer.message}")
        self.bar(move, answer)
        return Problem(code=answer.code, message=answer.message)

    def _fresh(self, context: PodContext) -> Problem | None:
        """The kill switch was read later, with the intent that was written since."""
        age, pod = self._actor.steady() - context.began, context.move.pod
        if age <= FRESH:
            return None
        return Problem(
            "ACT016",
            f"What pod {pod.namespace}/{pod.name} depends on was read {age:.1f} s ago, and at most "
            f"{FRESH:.0f} s may pass until its eviction: the API server is slow.",
        )


def _refuse_or_halt(gate: Gate, refusal: Problem | None) -> Problem | None:
    """The refusal of a gate, if it refuses. Raises: Halted, where that ends the run."""
    if refusal is not None and gate.halts:
        raise Halted(refusal.code, refusal.message)
    return refusal

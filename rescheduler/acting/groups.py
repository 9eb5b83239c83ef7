"""Gangs that are moved as a whole: all pods are evicted, one right after the other, or none."""

from collections.abc import Sequence

from rescheduler.acting import trail_records
from rescheduler.acting.halting import Halted, problem
from rescheduler.acting.stopping import StopAttempts, of_member
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.actions.seen_pod import SeenPod, was_evicted
from rescheduler.kube.pod_state import ended
from rescheduler.model.history import PastMove
from rescheduler.model.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.snapshot import Snapshot

_Intents = list[tuple[PlannedMove, PastMove]]


class GroupAttempts(StopAttempts):
    """Sends the evictions of one plan, those of a gang together."""

    def attempt_group(self, moves: Sequence[PlannedMove]) -> None:
        """Try all moves of a group, one right after the other; none where one may not be made.

        The intents of all are stored before the first eviction is sent, and each pod is read again
        right before its own. One that is refused ends the group, also after others were made: what
        was evicted comes back and completes the gang, and going on would split it no less, against
        what protects the pod that was refused. A pod that is gone by itself once the group has
        begun left with its gang, and is charged.

        Raises:
            Halted: the run must end; the results say what became of each move.
            ActionError, SourceError: a fault that ends the run; intents may stay open, and are
                closed by UID in the next run.
        """
        self._keep_pace()
        checked = self._all_checked(moves)
        if isinstance(checked, Problem):
            self._refuse_all(moves, checked)
            return
        stops = checked[0].stops
        if stops is not None:
            refused = self._stop(checked, stops)
            if refused is not None:
                self._refuse_all(moves, refused)
            return
        fresh = self._all_or_none(checked)
        if isinstance(fresh, Problem):
            self._refuse_all(moves, fresh)
            return
        self._may_send()
        ready = [move for move, _ in fresh]
        group = frozenset(move.pod.uid for move in ready)
        intents = self._intend(fresh)
        if not intents:
            return
        rest = list(zip(ready, intents, strict=True))
        begun = False
        while rest:
            move, past = rest[0]
            told = past.selector, past.known
            answer = self._try(rest, group, begun=begun)
            wait = None if answer is None else answer.retry_after
            if answer is not None and wait is not None and wait <= self._actor.pace.retry_cap:
                past.selector, past.known = told
                answer = self._again(rest, group, wait, begun=begun)
            if answer is None or answer.result != "evicted":
                self._leave(rest[1:], f"{move.pod.namespace}/{move.pod.name} of its gang stays.")
                if answer is not None:
                    self._heed(move, answer)
                return
            begun = True
            del rest[0]

    def _refuse_all(self, moves: Sequence[PlannedMove], why: Problem) -> None:
        for move in moves:
            self._report(move, "refused", why)

    def _all_checked(self, moves: Sequence[PlannedMove]) -> list[PlannedMove] | Problem:
        """All these moves as they stand on the batch's snapshot; or why one must not be made."""
        checks = self._begun_checks()
        ready: list[PlannedMove] = []
        for number, move in enumerate(moves):
            found = self._objection(move, moves[:number]) or checks.check(move, [])
            if isinstance(found, Problem):
                return of_member(move, found)
            ready.append(found)
        return ready

    def _all_or_none(
        self, ready: Sequence[PlannedMove]
    ) -> list[tuple[PlannedMove, Snapshot]] | Problem:
        """These moves with what was read of each now; or why one must not be made."""
        group = frozenset(move.pod.uid for move in ready)
        answer: list[tuple[PlannedMove, Snapshot]] = []
        for move in ready:
            self._may_send()
            fresh = self._rereading.read(move.pod.namespace, move.pod.name)
            if isinstance(fresh, Problem):
                return of_member(move, fresh)
            changed = self._changed(move, fresh, group)
            if changed is not None:
                return of_member(move, changed)
            answer.append((move, fresh))
        return answer

    def _try(self, rest: _Intents, group: frozenset[str], *, begun: bool) -> EvictionAnswer | None:
        """One request for the first of these, with all its gates; None when the pod forbids it."""
        (move, past), actor = rest[0], self._actor
        try:
            self._may_send()
            began = actor.steady()
            fresh = self._rereading.read(move.pod.namespace, move.pod.name)
            if begun and isinstance(fresh, Snapshot) and _went(move, fresh):
                answer = EvictionAnswer("evicted", "ACT001", _GONE)
                self._answered(move, past, answer)
                return answer
            changed = self._as_read(move, fresh, began, group, broken=begun)
            if isinstance(changed, Problem):
                self._withdraw([past])
                self._report(move, "refused", of_member(move, changed))
                return None
            self._may_send()
            self._is_fresh(move, actor.steady() - began)
        except Halted:
            self._withdraw(past for _, past in rest)
            raise
        return self._send(move, past)

    def _again(
        self, rest: _Intents, group: frozenset[str], wait: float, *, begun: bool
    ) -> EvictionAnswer | None:
        """Ask once more after the wait that the server asked for; the intent is stored anew."""
        move, past = rest[0]
        self._actor.sleep(wait)
        try:
            self._may_send()
        except Halted:
            self._withdraw(past for _, past in rest)
            raise
        past.state, past.code, past.settled = "intended", "", None
        if past.steered is not None:
            past.steered.open_entry()
        self._actor.record(trail_records.intent(move, past))
        self._actor.ledger.write(self.history)
        unsteered = self._actor.steering.enter(self.history, [each for _, each in rest])
        if unsteered is not None:
            self._withdraw([past], unsteered.code)
            self._report(move, "refused", problem(unsteered.code, unsteered.message))
            return None
        return self._try(rest, group, begun=begun)

    def _leave(self, rest: _Intents, why: str) -> None:
        if rest:
            self._withdraw(past for _, past in rest)
        for move, _ in rest:
            self._report(move, "skipped", problem("ACT010", why))


_GONE = f"{CATALOG['ACT001'].sentence} It was gone once its gang was broken up."


def _went(move: PlannedMove, fresh: Snapshot) -> bool:
    """Whether the pod went with those of its gang that were evicted, and needs no eviction."""
    pod = next((each for each in fresh.pods if each.metadata.name == move.pod.name), None)
    seen = None if pod is None else SeenPod.of(pod)
    return was_evicted(seen, move.pod.uid) or (pod is not None and ended(pod))

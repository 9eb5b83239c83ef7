"""Placements for pending gangs: all moves that free the places of one gang, as one candidate.

A gang starts when there is a place for each of its pods, and not before; so what one move frees is
of no use without the others. Here node after node is freed for one more pod, on trial, those first
that lack the least, until there are enough places. A node that cannot be freed is passed over, and
where there are not enough of them nothing is proposed for the gang.
"""

from collections.abc import Iterator
from contextlib import ExitStack

from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.binding import Binding
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.search.strategy import Candidate
from rescheduler.policies.terms import ROOM_TOO_LARGE, Roomy

_MOST_GANGS = 8
"""For how many gangs room is looked for in one state."""
_MOST_PASSED = 16
"""How many nodes may be passed over for one gang, as they cannot be freed."""
_MOST_PODS = 8
"""How many pods of a node are tried for each that leaves it."""


class Rooms:
    """For each gang without room the moves that make it; one alone is a candidate anyway.

    Where our own limits let none be found, they are looked for once more without them, to tell of a
    limit that never lets so many move at once: else the gang would wait for ever without a word.
    """

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """At most they gain all that there is to gain."""
        copy = evaluator.copy
        evaluator.rooms.clear()
        for binding in copy.deciding:
            if binding.roomy is None or copy.budgets.overall_refusal() is not None:
                continue
            for gang in binding.roomy.gangs_without_room()[:_MOST_GANGS]:
                pods = _Search(evaluator, binding, binding.roomy, gang).pods()
                if len(pods) > 1:
                    evaluator.rooms[pods] = gang
                    yield Candidate(pods, copy.cost())
                elif not pods:
                    self._tell(evaluator, binding, binding.roomy, gang)

    def _tell(self, evaluator: Evaluator, binding: Binding, roomy: Roomy, gang: str) -> None:
        """Note which limit keeps the gang from its room; read once, as it is in the beginning."""
        name = binding.policy.name
        if (name, gang) in self._told:
            return
        self._told.add((name, gang))
        pods = _Search(evaluator, binding, roomy, gang, limited=False).pods()
        if excess := evaluator.copy.budgets.too_many(pods):
            text = f"{name}: gang {gang} gets no room: it takes {excess}"
            evaluator.copy.unroomed[gang] = Problem(ROOM_TOO_LARGE, text)


class _Search:
    """What to move for one gang. `_made`: the moves on trial, in their order.

    limited: whether our own limits count.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        binding: Binding,
        roomy: Roomy,
        gang: str,
        *,
        limited: bool = True,
    ) -> None:
        self._binding, self._limited = binding, limited
        self._evaluator, self._roomy, self._gang = evaluator, roomy, gang
        self._made: list[Shift] = []

    def pods(self) -> tuple[int, ...]:
        """The pods to move, in their order; none where there would not be room for the gang."""
        passed: set[tuple[int, int]] = set()
        with ExitStack() as trial:
            while self._roomy.short(self._gang) and len(passed) < _MOST_PASSED:
                place = next(
                    (
                        candidate
                        for candidate in self._roomy.open_for(self._gang)
                        if candidate not in passed
                    ),
                    None,
                )
                if place is None or self._evaluator.ended():
                    return ()
                if not self._free(*place, trial):
                    passed.add(place)
            if self._roomy.short(self._gang):
                return ()
            return self._needed_pods(trial)

    def _free(self, shape: int, node: int, trial: ExitStack) -> bool:
        """Free a place on the node; what is moved for it stays moved within the trial."""
        short, count = self._roomy.short(self._gang), len(self._made)
        with ExitStack() as here:
            while self._roomy.short(self._gang) >= short:
                if not self._move_one(shape, node, here):
                    del self._made[count:]
                    return False
            trial.push(here.pop_all())
        return True

    def _move_one(self, shape: int, node: int, here: ExitStack) -> bool:
        """Move the pod off the node that helps most for what it disrupts, and costs no place."""
        copy = self._evaluator.copy
        short = self._roomy.short(self._gang)
        reliefs = zip(*(array.tolist() for array in self._roomy.relief(shape, node)), strict=True)
        order = sorted(
            reliefs,
            key=lambda candidate: (
                -round(candidate[1] / copy.disruption(candidate[0]), 9),
                copy.snapshot.pods[candidate[0]].key,
            ),
        )
        for pod, _ in order[:_MOST_PODS]:
            if pod in copy.moved or any(shift.pod == pod for shift in self._made):
                continue
            if not self._binding.moves(pod):
                continue
            if self._evaluator.ended():
                return False
            before = tuple(shift.pod for shift in self._made)
            if self._evaluator.refuse_pods((*before, pod), limited=self._limited) is not None:
                continue
            move = self._evaluator.helper(pod)
            if not isinstance(move, Evaluation) or move.destination == node:
                continue
            with ExitStack() as one:
                one.enter_context(copy.try_shift(move.shift))
                if self._roomy.short(self._gang) <= short:
                    self._made.append(move.shift)
                    here.push(one.pop_all())
                    return True
        return False

    def _needed_pods(self, trial: ExitStack) -> tuple[int, ...]:
        """Those without which there would be no room: others may have freed more than their own."""
        kept: list[int] = []
        for shift in reversed(self._made):
            with ExitStack() as back:
                back.enter_context(self._evaluator.copy.try_shift(shift.shift_back()))
                if self._roomy.short(self._gang):
                    kept.append(shift.pod)
                else:
                    trial.push(back.pop_all())
        return tuple(reversed(kept))

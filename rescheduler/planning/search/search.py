"""The search: the candidate that gains most, again and again, on a working copy."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.moves.search_summary import SearchSummary, Stop
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.bounds import Bounds
from rescheduler.planning.evaluation.effort import UNHURRIED, Effort, never
from rescheduler.planning.evaluation.evaluation import (
    NOTHING,
    Evaluation,
    GainThreshold,
    JointEvaluation,
)
from rescheduler.planning.evaluation.evaluator import ONLY_WHOLE, UNSEEN, Evaluator
from rescheduler.planning.evaluation.tie_breaks import tie_break
from rescheduler.planning.search.best_gain import Best
from rescheduler.planning.search.chains import Chains
from rescheduler.planning.search.gang_placements import Rooms
from rescheduler.planning.search.joint_moves import joint_candidates
from rescheduler.planning.search.queue import Pods, Queue
from rescheduler.planning.search.strategy import AllMoves, Candidate, Proposal, Strategy

_MOST_LAST = 32
"""How many of those evaluated before are evaluated again for the plan when a search must end."""


@dataclass(slots=True)
class SearchResult:
    """accepted: in their order. refused: every other candidate, and why: in the state at the end.

    A candidate that was one no more once the others had moved is refused too. gate: what the first
    moves were measured against; None where nothing might be evaluated.
    """

    accepted: list[JointEvaluation] = field(default_factory=list)
    refused: dict[Pods, Problem] = field(default_factory=dict)
    summary: SearchSummary | None = None
    gate: GainThreshold | None = None

    @property
    def moves(self) -> list[Evaluation]:
        """All that moves, in the order of the evictions."""
        return [move for evaluation in self.accepted for move in evaluation.moves]

    @property
    def refusals(self) -> dict[int, Problem]:
        """Why each pod stays: alone, or in the first of the smallest groups if never alone.

        Of a pod that is moved with its gang or not at all it is why its gang stays.
        """
        moved = {move.pod for move in self.moves}
        alone = {pods[0]: why for pods, why in self.refused.items() if len(pods) == 1}
        answer = {pod: why for pod, why in alone.items() if why.code != ONLY_WHOLE}
        groups = [group for group in self.refused.items() if len(group[0]) > 1]
        for pods, refusal in sorted(groups, key=lambda group: len(group[0])):
            for pod in pods:
                answer.setdefault(pod, refusal)
        for pod, refusal in alone.items():
            answer.setdefault(pod, refusal)
        return {pod: refusal for pod, refusal in answer.items() if pod not in moved}


def search(
    evaluator: Evaluator,
    strategy: Strategy | None = None,
    *,
    effort: Effort = UNHURRIED,
    proposal: Proposal | None = None,
) -> SearchResult:
    """The moves of one pass, committed in the working copy, until nothing more passes the gate.

    strategy: where the candidates come from; else each candidate of the policies is one alone, and
    whole gangs are. proposal: what is tried before all else, and taken if it passes the gate.

    Greedy and lazy: candidates wait in a heap by the most that they could gain per disruption; the
    first is evaluated, and taken if no other could be better. A round that took something is
    followed by another, because each move changes what the rest is worth, and before that moves
    that others made needless are taken back. So at the end every candidate was refused in the very
    state that the plan leads to; unless the plan is full, planning again there proposes nothing.

    What was taken until then is a plan at any time. Where the evaluations or the time of the effort
    are used up, the best of those that were evaluated are taken too (a few are evaluated once more
    for that), and it ends. Where nothing may be evaluated, no bound is worked out either.

    It ends: what is taken lowers the cost of the working copy, what is taken back does not raise
    it, and what was taken back twice stays.
    """
    return _Search(evaluator, strategy, effort).run(proposal)


class _Search:
    """One search. What it refuses is forgotten when a round begins, for that asks everybody again.

    `_asked`: pods that were candidates alone. `_needless`: what was taken back; `_dropped`: what
    was so twice. `_alone`: what single moves gained when the first chain was taken.
    """

    def __init__(self, evaluator: Evaluator, strategy: Strategy | None, effort: Effort) -> None:
        self._began, self._last_step = evaluator.steps, evaluator.steps + effort.steps
        self._expired = effort.expired
        self._stopped: Stop = "complete"
        self._evaluator = evaluator
        self._copy = evaluator.copy
        self._singly = strategy is None
        self._strategy: Strategy = strategy or AllMoves()
        self._rooms: Strategy = Rooms()
        self._last: Strategy = Chains()
        self._result = SearchResult()
        self._asked: set[int] = set()
        self._needless: set[Pods] = set()
        self._dropped: dict[Pods, Problem] = {}
        self._alone: float | None = None

    def run(self, proposal: Proposal | None) -> SearchResult:
        if self._has_ended():
            return self._empty_result()
        self._evaluator.ended = self._has_ended
        bounds = self._evaluator.bounds()
        self._result.gate, best = (
            bounds.gate,
            Best(self._copy, bounds.best, bounds.refusals),
        )
        budgets = self._copy.budgets
        budgets.shares.begin(bounds.worth_making(self._copy.disruptions))
        if proposal is not None:
            self._follow(proposal)
        while (
            self._round() or self._chain() or budgets.share_out(self._result.refused)
        ) and not self._has_ended():
            self._take_back()
        if self._has_ended():
            self._take_back()
        self._refuse_former()
        moves = self._result.moves
        chained = sum(
            len(evaluation.moves) for evaluation in self._result.accepted if evaluation.chain
        )
        self._result.summary = SearchSummary(
            stopped=self._stopped,
            steps=self._evaluator.steps - self._began,
            gain=sum(move.gain for move in moves),
            bound=best.max_gain(len(moves)),
            chained=chained,
            alone=self._alone if chained else None,
        )
        return self._result

    def _empty_result(self) -> SearchResult:
        """Nothing, as no more may be evaluated."""
        self._result.refused = {(pod,): UNSEEN for pod in self._copy.candidates()}
        self._result.summary = SearchSummary(stopped=self._stopped, steps=0, gain=0.0, bound=0.0)
        return self._result

    def _has_ended(self) -> bool:
        """Whether no more may be evaluated."""
        if self._evaluator.steps >= self._last_step:
            self._stopped = "steps"
        elif self._stopped != "time" and self._expired():
            self._stopped = "time"
        return self._stopped in ("steps", "time")

    def _follow(self, proposal: Proposal) -> None:
        """Take of the proposal what passes, until nothing more of it does."""
        self._evaluator.propose(proposal.nodes)
        for candidate in proposal.in_order(self._evaluator):
            if self._has_ended():
                break
            gate, queue = self._evaluator.bounds().gate, self._queue()
            for passing in self._passing_candidates(
                [candidate], gate, chain=len(candidate.pods) > 1
            ):
                self._add(queue, passing)
            self._take(queue, gate, partners=False)
        while not self._has_ended() and (
            self._take_of(proposal.candidates(self._evaluator))
            or self._take_of(joint_candidates(self._evaluator, proposal.nodes))
        ):
            self._take_back()
        self._evaluator.propose({})

    def _take_of(self, candidates: Iterable[Candidate]) -> bool:
        """Take what passes of a proposal; answers whether anything did."""
        gate, queue = self._evaluator.bounds().gate, self._queue()
        for candidate in candidates:
            for passing in self._passing_candidates(
                [candidate], gate, chain=len(candidate.pods) > 1
            ):
                self._add(queue, passing)
        return self._take(queue, gate, partners=False)

    def _round(self) -> bool:
        """Take what passes; answers whether another round could find more."""
        bounds = self._evaluator.bounds()
        self._result.refused = {(pod,): refusal for pod, refusal in bounds.refusals.items()}
        self._asked.update(bounds.refusals)
        queue = self._queue()
        if self._singly:
            self._add_singles(queue, bounds)
        candidates = chain(
            self._strategy.candidates(self._evaluator), self._rooms.candidates(self._evaluator)
        )
        for candidate in self._passing_candidates(candidates, bounds.gate):
            self._add(queue, candidate)
        closed = self._copy.budgets.overall_refusal()
        if closed is not None:
            self._stopped = "full"
            for pods in queue.pods():
                refusal = self._evaluator.refuse_pods(pods, closed=False)
                self._result.refused[pods] = refusal or closed
            return False
        return self._take(queue, bounds.gate)

    def _add_singles(self, queue: Queue, bounds: Bounds) -> None:
        """Each candidate of the policies alone, as `_passing_candidates`, for all at once."""
        gate, refused = bounds.gate, self._result.refused
        self._asked.update(bounds.best)
        dropped = {pods[0]: why for pods, why in self._dropped.items() if len(pods) == 1}
        best = {pod: bound for pod, bound in bounds.best.items() if pod not in dropped}
        refused.update(((pod,), why) for pod, why in dropped.items() if pod in bounds.best)
        pods = np.fromiter(best, np.int32, len(best))
        gains = np.fromiter(best.values(), np.float64, len(best))
        disruptions = self._disruptions(pods, gains)
        go = gate.pass_mask(gains, disruptions)
        queue.add_singles(pods[go], gains[go] / disruptions[go], disruptions[go])
        stay = zip(*(column[~go].tolist() for column in (pods, gains, disruptions)), strict=True)
        refusals: dict[tuple[float, float], Problem | None] = {}
        for pod, gain, disruption in stay:
            if (gain, disruption) not in refusals:
                refusals[gain, disruption] = gate.refusal(gain, disruption, landed=False)
            if (why := refusals[gain, disruption]) is not None:
                refused[pod,] = why

    def _chain(self) -> bool:
        """Where no single move is left: take swaps and chains. They are not reported one by one.

        Of a pod that is stuck it is said why the first chain for it is not made that was possible.
        """
        copy, gate = self._copy, self._evaluator.bounds().gate
        if copy.budgets.overall_refusal() is not None or self._has_ended():
            return False
        refused = dict(self._result.refused)
        gained = sum(
            evaluation.gain for evaluation in self._result.accepted if not evaluation.chain
        )
        candidates = self._last.candidates(self._evaluator)
        queue = self._queue()
        for candidate in self._passing_candidates(candidates, gate, chain=True):
            self._add(queue, candidate)
        taken = self._take(queue, gate)
        if taken and self._alone is None:
            self._alone = gained
        tried = {pods: why for pods, why in self._result.refused.items() if pods not in refused}
        self._result.refused = refused | _of_stuck(refused, tried)
        return taken

    def _passing_candidates(
        self, candidates: Iterable[Candidate], gate: GainThreshold, *, chain: bool = False
    ) -> Iterator[Candidate]:
        """The candidates whose bound passes the gate; the others are refused by it."""
        for candidate in candidates:
            pods = candidate.pods
            if len(pods) == 1:
                self._asked.update(pods)
            refusal = self._dropped.get(pods) or gate.refusal(
                candidate.bound,
                self._disruption(candidate),
                moves=len(pods),
                chain=chain,
                landed=False,
            )
            if refusal is None:
                yield candidate
            else:
                self._result.refused[pods] = refusal

    def _queue(self) -> Queue:
        seed, all_pods = self._copy.seed, self._copy.snapshot.pods
        return Queue(
            lambda pods: tie_break(seed, "/".join(all_pods[pod].metadata.uid for pod in pods))
        )

    def _add(self, queue: Queue, candidate: Candidate) -> None:
        disruption = self._disruption(candidate)
        queue.push(candidate.pods, candidate.bound / disruption, disruption)

    def _take(self, queue: Queue, gate: GainThreshold, *, partners: bool = True) -> bool:
        """Take from the queue until it is empty or the plan is full; whether it took any.

        partners: whether pods join that are worth more by what is taken.
        """
        copy, result = self._copy, self._result
        latest: dict[Pods, JointEvaluation] = {}
        taken = False
        while queue and copy.budgets.overall_refusal() is None:
            if self._has_ended():
                return self._take_known(queue, latest, gate) or taken
            _, pods, version = queue.pop()
            if not copy.moved.isdisjoint(pods):
                continue
            if version != copy.version:
                evaluation = self._evaluator.evaluate(pods, gate)
                if evaluation.refusal is not None:
                    result.refused[pods] = evaluation.refusal
                    continue
                latest[pods] = evaluation
                if queue.push_unless_first(
                    pods, evaluation.value, evaluation.disruption, copy.version
                ):
                    continue
            result.accepted.append(copy.commit(latest[pods]))
            result.refused.pop(pods, None)
            taken = True
            if partners:
                for candidate in self._passing_candidates(self._partners(pods), gate):
                    self._add(queue, candidate)
        return taken

    def _partners(self, pods: Pods) -> Iterator[Candidate]:
        """The pods that may be worth more now than they were when they were last evaluated."""
        for pod, bound in self._evaluator.partners(pods).items():
            yield Candidate((pod,), bound)

    def _take_known(
        self,
        queue: Queue,
        latest: dict[Pods, JointEvaluation],
        gate: GainThreshold,
    ) -> bool:
        """Where no more may be evaluated: take the best of what was; answers whether it took any.

        What other moves have changed since is evaluated once more, and taken if it still passes,
        though one that was never evaluated could be better.
        """
        copy, refused, taken = self._copy, self._result.refused, False
        waiting = queue.select_waiting(latest)[:_MOST_LAST]
        self._evaluator.ended = never
        refused.update((pods, UNSEEN) for pods in queue.pods() if copy.moved.isdisjoint(pods))
        for _, pods, version in waiting:
            if copy.budgets.overall_refusal() is not None or not copy.moved.isdisjoint(pods):
                continue
            if version != copy.version:
                latest[pods] = self._evaluator.evaluate(pods, gate)
            if (refusal := latest[pods].refusal) is not None:
                refused[pods] = refusal
                continue
            del refused[pods]
            self._result.accepted.append(copy.commit(latest[pods]))
            taken = True
        self._evaluator.ended = self._has_ended  # what follows a proposal asks on
        return taken

    def _take_back(self) -> None:
        """Take back what is needless, last first, until nothing is; what was so twice stays."""
        accepted = self._result.accepted
        while True:
            needless = self._last_needless()
            if needless is None:
                return
            self._copy.take_back(needless)
            accepted.remove(needless)
            if needless.pods in self._needless:
                text = "it was taken back twice, as other moves of this plan made it needless"
                self._dropped[needless.pods] = Problem(code="FEA021", message=text)
            self._needless.add(needless.pods)

    def _last_needless(self) -> JointEvaluation | None:
        moves = self._result.moves
        needless = (
            e for e in reversed(self._result.accepted) if self._evaluator.needless(e, moves)
        )
        return next(needless, None)

    def _refuse_former(self) -> None:
        """Refuse those, too, that are no candidates any more since others have moved."""
        refused, moved = self._result.refused, self._copy.moved
        text = "nothing is gained by moving it once the other moves of this plan are made"
        for pod in sorted(self._asked):
            if (pod,) not in refused and pod not in moved:
                gone = Problem(code="FEA021", message=text)
                refused[pod,] = self._evaluator.refuse_always(pod) or gone

    def _disruptions(self, pods: IntArray, gains: FloatArray) -> FloatArray:
        """(k,) what each pod alone disrupts; pods that can gain nothing are skipped."""
        answer, gaining = np.ones(len(pods)), np.flatnonzero(gains > NOTHING)
        disruptions = self._copy.disruptions
        answer[gaining] = [disruptions[pod] for pod in pods[gaining].tolist()]
        return answer

    def _disruption(self, candidate: Candidate) -> float:
        """What it disrupts, in pods; a pod that can gain nothing is skipped."""
        if candidate.bound <= NOTHING:
            return 1.0
        if len(candidate.pods) == 1:
            return self._copy.disruptions[candidate.pods[0]]
        return sum(self._copy.disruptions[pod] for pod in candidate.pods)


def _of_stuck(alone: dict[Pods, Problem], chains: dict[Pods, Problem]) -> dict[Pods, Problem]:
    """Why pods that cannot be moved alone are not moved with others that make room: the first."""
    answer: dict[Pods, Problem] = {}
    for pods, why in chains.items():
        last = pods[-1:]
        if last in alone and last not in answer and not why.code.startswith("FEA"):
            answer[last] = Problem(why.code, f"{why.message}; alone: {alone[last].message}")
    return answer

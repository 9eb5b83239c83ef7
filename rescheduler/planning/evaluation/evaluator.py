"""Evaluates candidates on a working copy."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.moves.move import Landing
from rescheduler.model.problem import Problem
from rescheduler.planning.binding import weighted_gain
from rescheduler.planning.evaluation.bounds import Bounds, bounds, greatest
from rescheduler.planning.evaluation.destination_choice import Chooser
from rescheduler.planning.evaluation.destinations import describe, refuse_counted, refuse_landing
from rescheduler.planning.evaluation.effort import never
from rescheduler.planning.evaluation.evaluation import (
    NOTHING,
    Evaluation,
    GainThreshold,
    JointEvaluation,
)
from rescheduler.planning.evaluation.pending_pods import PendingPods
from rescheduler.planning.evaluation.stability import Stability
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.terms import NO_ROOM

ONLY_WHOLE = "ELG028"
"""The pod may be moved with its whole gang."""
UNSEEN = Problem(code="FEA013", message="the search ended before it came to it")


class Evaluator:
    """Evaluates moves, alone or several together; nothing is worked out twice in one state.

    copy: nothing has moved in it yet. Evaluating leaves it as it is.
    rooms: pods that are moved to make room for a gang, and for which: all or none.
    steps: how many times anything was worked out. ended: whether to stop; long work checks it
    between evaluations, and gives up what is not finished.
    """

    def __init__(self, copy: WorkingCopy) -> None:
        self.copy = copy
        self.stability = Stability(copy.bindings, copy.snapshot, copy.finding_history)
        self._waiting = PendingPods(copy.snapshot, copy.scheduler, copy.limits)
        self.chooser = Chooser(copy, self._waiting)
        self._permanent: dict[int, Problem | None] = {}
        self._bounds: tuple[int, Bounds] | None = None
        self._known: dict[tuple[int, ...], tuple[Evaluation, ...] | Problem] = {}
        self._version = copy.version
        self.rooms: dict[tuple[int, ...], str] = {}
        self._strict: tuple[int, dict[int, list[str]]] | None = None
        self.steps = 0
        self.ended: Callable[[], bool] = never

    def propose(self, nodes: Mapping[int, int]) -> None:
        """From now on these pods are sent to these nodes, where that is possible and gains."""
        self.chooser.proposed = nodes
        self._version = -1  # what is known was worked out with others

    def bounds(self) -> Bounds:
        """What every candidate could gain at best by itself, in the working copy as it is now."""
        copy = self.copy
        if self._bounds is None or self._bounds[0] != copy.version:
            candidates = copy.candidates()
            refusals = self.stability.refusals(copy.deciding, candidates)
            refusals |= self._refuse_all(candidates)
            steered = self.chooser.is_steering
            if not steered:
                refusals = self._refuse_unsteered() | refusals
            together = {pod for pod, refusal in refusals.items() if refusal.code == ONLY_WHOLE}
            self._bounds = (
                copy.version,
                bounds(copy, candidates, refusals, together, steered=steered),
            )
        return self._bounds[1]

    def partners(self, pods: tuple[int, ...]) -> dict[int, float]:
        """Candidates that may gain more since these have moved, each with its bound now."""
        copy, moved = self.copy, np.array(pods, dtype=np.int32)
        partners = {
            partner for binding in copy.deciding for partner in binding.partners(moved).tolist()
        }
        free = [pod for pod in sorted(partners - copy.moved) if self.refuse_always(pod) is None]
        if not free:
            return {}
        best = greatest(copy, np.array(free, dtype=np.int32), steered=self.chooser.is_steering)
        return dict(zip(free, best.tolist(), strict=True))

    def evaluate(self, pods: tuple[int, ...], gate: GainThreshold | None = None) -> JointEvaluation:
        """Whether to move these pods: the gain over their landings, or the one reason why not.

        gate: of another state of the working copy; that of this one, unless given.
        """
        refusal = self.refuse_pods(pods)
        return JointEvaluation(pods, refusal=refusal) if refusal else self.weigh(pods, gate)

    def refuse_always(self, pod: int) -> Problem | None:
        """What keeps the pod where it is, whatever the plan does; worked out once."""
        if pod not in self._permanent:
            copy = self.copy
            refusal = copy.eligibility.refusal(pod) or copy.refuse_held(pod)
            self._permanent[pod] = refusal or copy.budgets.permanent(pod)
        return self._permanent[pod]

    def _refuse_all(self, pods: list[int]) -> dict[int, Problem]:
        """What `refuse_always` answers to each of the pods; those that may move are not in it."""
        refusals, copy = self._permanent, self.copy
        unchecked = np.array([pod for pod in pods if pod not in refusals], dtype=np.int32)
        if len(unchecked):
            refused = copy.budgets.permanents(unchecked) | copy.refusals_of_held(unchecked)
            refused |= copy.eligibility.refusals(unchecked)
            refusals.update((pod, refused.get(pod)) for pod in unchecked.tolist())
        return {pod: refusal for pod in pods if (refusal := refusals[pod]) is not None}

    def _refuse_in_gang(self, pod: int, gang: Gang) -> Problem | None:
        """As `refuse_always`, where the whole gang of the pod moves with it."""
        copy = self.copy
        refusal = copy.eligibility.refusal(pod, whole=True) or copy.refuse_held(pod)
        return refusal or copy.budgets.permanent(pod) or copy.budgets.too_large(gang)

    def refuse_pods(
        self, pods: tuple[int, ...], *, closed: bool = True, limited: bool = True
    ) -> Problem | None:
        """Why these pods may not be moved, or not all of them with what budgets allow now.

        closed: whether to ask first if the plan may have more moves at all. limited: whether our
        own limits count; what the cluster allows does always.
        """
        budgets = self.copy.budgets
        whole = (gang := self.copy.whole_gang(pods)) is not None
        for pod in pods:
            refusal = self._refuse_in_gang(pod, gang) if gang else self.refuse_always(pod)
            if refusal is not None:
                return self._name_pod(pod, pods, refusal)
        if limited and (refusal := budgets.shares.refusal(pods)) is not None:
            return refusal
        spent: list[int] = []
        try:
            for pod in pods:
                follows = whole and self.copy.follows(pod, spent)
                check = budgets.refusal if closed else budgets.used_up
                if limited:
                    refusal = check(pod, whole=whole, follows=follows)
                else:
                    refusal = budgets.cluster_refusal(pod, whole=whole)
                if refusal is not None:
                    return self._name_pod(pod, pods, refusal)
                if pod != pods[-1]:
                    budgets.spend(pod, whole=whole, follows=follows)
                    spent.append(pod)
        finally:
            for pod in reversed(spent):
                budgets.release(pod)
        return None

    def weigh(self, pods: tuple[int, ...], gate: GainThreshold | None = None) -> JointEvaluation:
        """What the moves would do, and why they are not worth it, whatever budgets allow."""
        if self._version != self.copy.version:
            self._known, self._version = {}, self.copy.version
        if pods not in self._known:
            self.steps += 1
            self._known[pods] = self.work_out(pods)
        moves = self._known[pods]
        if isinstance(moves, Problem):
            return JointEvaluation(pods, refusal=moves)
        evaluation = JointEvaluation(pods, moves)
        return replace(
            evaluation, refusal=self._refuse_gain(evaluation, gate or self.bounds().gate)
        )

    def work_out(self, pods: tuple[int, ...]) -> tuple[Evaluation, ...] | Problem:
        """Where each would land and what it would gain, the ones before it being made."""
        moves: list[Evaluation] = []
        whole = self.copy.whole_gang(pods) is not None
        group = self.copy.group(pods)
        room = "" if whole else self.rooms.get(pods, "")
        with ExitStack() as made:
            for pod in pods:
                if moves and self.ended():
                    return UNSEEN
                helps = bool(room) or (not whole and pod != pods[-1])
                move = self._move(pod, whole=whole, helps=helps)
                if isinstance(move, Problem):
                    return self._name_pod(pod, pods, move)
                after = () if whole or room else tuple(evaluation.pod for evaluation in moves)
                moves.append(replace(move, group=group, room=room, after=after))
                if room or pod != pods[-1]:
                    made.enter_context(self.copy.try_shift(move.shift))
            if room and room in self.copy.gangs_without_room():
                text = f"gang {room} would have no room as a whole after them"
                return Problem(code=NO_ROOM, message=text)
        return tuple(moves)

    def helper(self, pod: int) -> Evaluation | Problem:
        """The move of one pod that only makes room, on the working copy as it is now."""
        self.steps += 1
        return self._move(pod, whole=False, helps=True)

    def needless(self, evaluation: JointEvaluation, made: Sequence[Evaluation]) -> bool:
        """Whether the cost would be no higher without these committed moves: others do their work.

        made: all committed moves; a move is needed if another one took the room that it left.
        """
        copy, change = self.copy, 0.0
        with ExitStack() as undone:
            for move in reversed(evaluation.moves):
                here = np.array([move.source], dtype=np.int32)
                change += float(sum(array[0] for array in copy.changes(move.pod, here).values()))
                undone.enter_context(copy.try_shift(move.shift.shift_back()))
            return change <= NOTHING and self._all_fit(evaluation, made)

    def _all_fit(self, undone: JointEvaluation, made: Sequence[Evaluation]) -> bool:
        """Whether the other moves to the nodes that these pods have left can still be made."""
        sources = {move.source for move in undone.moves}
        for move in made:
            if move.destination in sources and move.pod not in undone.pods:
                with self.copy.try_shift(move.shift.shift_back()):
                    copy, there = self.copy, move.destination
                    if not copy.scheduler.feasible(move.pod)[there]:
                        return False
                    if copy.admission.rejects(move.pod, move.source, there):
                        return False
        return True

    def _move(self, pod: int, *, whole: bool, helps: bool) -> Evaluation | Problem:
        """One move on the working copy as it is now, steered if that is requested and helps.

        helps: whether it only makes room for another move.
        """
        copy, source = self.copy, int(self.copy.snapshot.pod_node[pod])
        landing = copy.landing(pod)
        choice = self.chooser.choose(pod, landing, whole=whole, helps=helps)
        if choice is not None:
            landing = choice.landing
        refusal = refuse_landing(copy.snapshot, landing, source, copy.limits)
        refusal = refusal or copy.admission.refusal(pod, source, landing)
        if refusal is not None:
            return refusal
        changes = copy.changes(pod, landing.nodes)
        worth = copy.worth(pod, landing.nodes, changes)
        total = sum(changes.values(), np.zeros(len(landing.nodes)))
        counted = sum(worth.values(), np.zeros(len(landing.nodes)))
        destination = self._destination(landing, source, counted)
        if destination < 0:
            text = f"it could only come back; {describe(copy.snapshot, landing)}"
            return Problem(code="FEA002", message=text)
        proposed = self.chooser.proposed.get(pod, destination)
        if destination != proposed:
            if copy.scheduler.feasible(pod)[proposed]:
                self.chooser.astray.add((pod, proposed))
            text = f"it would not land where it is proposed; {describe(copy.snapshot, landing)}"
            return Problem(code="FEA003", message=text)
        # Coming back gains nothing.
        away = np.where(landing.nodes == source, 0.0, landing.probabilities)
        gains = {
            binding.policy.name: -float(away @ worth[binding.policy.name]) / binding.policy.weight
            for binding in copy.active
        }
        if choice is None and (refusal := self._leave_unsteered(pod, gains, whole=whole)):
            return refusal
        return Evaluation(
            pod,
            source,
            destination,
            gain=weighted_gain(copy.active, gains),
            gains=gains,
            likely_gain=-float(total[landing.nodes == destination].sum()),
            disruption=copy.disruption(pod),
            landing=landing,
            choice=choice,
        )

    def _wanted_steered(self) -> dict[int, list[str]]:
        """The candidates of policies with `onlyIfSteered` alone, and these policies' names."""
        version = self.copy.version
        if self._strict is None or self._strict[0] != version:
            names: dict[int, list[str]] = {}
            others: set[int] = set()
            deciding = self.copy.deciding
            if any(binding.policy.onlyIfSteered for binding in deciding):
                for binding in deciding:
                    pods = binding.candidates().tolist()
                    if not binding.policy.onlyIfSteered:
                        others.update(pods)
                        continue
                    for pod in pods:
                        names.setdefault(pod, []).append(binding.policy.name)
            self._strict = (
                version,
                {pod: policy_names for pod, policy_names in names.items() if pod not in others},
            )
        return self._strict[1]

    def _refuse_unsteered(self) -> dict[int, Problem]:
        """FEA011 where nothing is steered at all: no cycle will move these, whatever it may do."""
        return {
            pod: Problem("FEA011", _only_steered(names, "nothing is steered"))
            for pod, names in self._wanted_steered().items()
            if pod not in self.copy.moved
        }

    def _leave_unsteered(self, pod: int, gains: dict[str, float], *, whole: bool) -> Problem | None:
        """FEA011 where only policies gain that move nothing unsteered; their gains become 0.

        Nor is such a policy's candidate moved for others that gain by it and would not move it.
        """
        strict = [b.policy for b in self.copy.active if b.policy.onlyIfSteered]
        lost = [policy.name for policy in strict if gains[policy.name] > NOTHING]
        for name in lost:
            gains[name] = 0.0
        if not lost:
            return None
        wanted = not whole and pod in self._wanted_steered()
        if weighted_gain(self.copy.active, gains) > NOTHING and not wanted:
            return None
        why = self.chooser.problem(pod, whole=whole)
        because = "nothing is steered, or no node is better" if why is None else why.message
        return Problem("FEA011", _only_steered(lost, because))

    def _destination(self, landing: Landing, source: int, change: FloatArray) -> int:
        """The most likely node that is not the source; of equals the best, then by the seed.

        change: (k,) of the weighted cost per landing node. A plan that put a move on the worse of
        two equally likely nodes would not show the gain for which it was made.
        """
        elsewhere = landing.nodes != source
        nodes, chances = landing.nodes[elsewhere], landing.probabilities[elsewhere]
        if not len(nodes):
            return -1
        likely = chances >= chances.max() - NOTHING
        worth = change[elsewhere][likely]
        best = nodes[likely][worth <= worth.min() + NOTHING]
        return int(best[self.copy.precedence[best].argmin()])

    def _refuse_gain(self, evaluation: JointEvaluation, gate: GainThreshold) -> Problem | None:
        copy, count = self.copy, len(evaluation.moves)
        refusal = gate.refusal(
            evaluation.gain, evaluation.disruption, moves=count, chain=evaluation.chain
        )
        refusal = refusal or self._refuse_likely(evaluation) or self._refuse_room(evaluation, gate)
        if refusal is not None:
            text = f"{refusal.message}; {self._landings(evaluation)}"
            return Problem(code=refusal.code, message=text)
        gains = evaluation.gains
        deciding = [b for b in copy.deciding if all(b.moves(pod) for pod in evaluation.pods)]
        wanted = weighted_gain(deciding, gains)
        if wanted <= NOTHING:
            text = f"no policy in mode {copy.mode} gains: {wanted:+.2f}"
            return Problem(code="FEA003", message=text)
        refusal = self.stability.refuse_moves(evaluation, copy.active, deciding, gate)
        return (
            refusal or self._refuse_places(evaluation) or copy.reversals.refusal(evaluation.moves)
        )

    def _refuse_room(self, evaluation: JointEvaluation, gate: GainThreshold) -> Problem | None:
        """FEA003, MRG001: room that is made for nothing, however much is gained by making it."""
        if not evaluation.chain:
            return None
        last, helpers = evaluation.moves[-1], evaluation.moves[:-1]
        if last.gain <= max(gate.margin, NOTHING):
            code, text = "MRG001", f"its gain is {last.gain:.3g}, and the margin {gate.margin:g}"
            return self._name_pod(last.pod, evaluation.pods, Problem(code, text))
        for number, helper in enumerate(helpers, 1):
            later = {move.destination for move in evaluation.moves[number:]}
            if helper.source not in later and helper.destination not in later:
                text = "none of the others goes where it would make room, or comes where it is"
                return self._name_pod(helper.pod, evaluation.pods, Problem("FEA003", text))
        return None

    def _refuse_likely(self, evaluation: JointEvaluation) -> Problem | None:
        """FEA003: it gains on the mean over all landings, and nothing at the most likely one.

        The working copy puts replacements where they most likely land: there, it would be undone.
        """
        if evaluation.likely_gain > NOTHING:
            return None
        nodes = self.copy.snapshot.nodes
        names = ", ".join(nodes[move.destination].metadata.name for move in evaluation.moves)
        return Problem(
            code="FEA003", message=f"no policy gains on {names}, where it most likely lands"
        )

    def _refuse_places(self, evaluation: JointEvaluation) -> Problem | None:
        """FEA006 or GRD008: a node of a move cannot be counted on, or its room is wanted."""
        copy = self.copy
        wanting = [
            binding for binding in copy.active if evaluation.gains.get(binding.policy.name, 0.0) > 0
        ]
        landings = [(move, move.landing) for move in evaluation.moves if move.landing is not None]
        for move, landing in landings:
            if (refusal := self._waiting.refusal(move.pod, landing)) is not None:
                return self._name_pod(move.pod, evaluation.pods, refusal)
        with ExitStack() as made:
            for move, landing in landings:
                refusal = refuse_counted(copy.snapshot, landing, move, wanting, copy.eligibility)
                if refusal is not None:
                    return self._name_pod(move.pod, evaluation.pods, refusal)
                if move is not evaluation.moves[-1]:
                    made.enter_context(copy.try_shift(move.shift))
        return None

    def _landings(self, evaluation: JointEvaluation) -> str:
        snapshot = self.copy.snapshot
        return "; ".join(describe(snapshot, m.landing) for m in evaluation.moves if m.landing)

    def _name_pod(self, pod: int, pods: tuple[int, ...], refusal: Problem) -> Problem:
        """Which of several pods it is about."""
        if len(pods) == 1:
            return refusal
        name = self.copy.snapshot.pods[pod].key
        text = f"of {len(pods)} moves together, that of {name}: {refusal.message}"
        return Problem(code=refusal.code, message=text)


def _only_steered(names: list[str], because: str) -> str:
    return f"{', '.join(names)}: moves only what is steered, and {because}"

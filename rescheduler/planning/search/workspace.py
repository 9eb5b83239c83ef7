"""The working copy: terms, scheduler model and budgets, moved along together as the plan grows."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.history import History
from rescheduler.model.move import Landing, Shift
from rescheduler.model.plan import Calibration, Mode
from rescheduler.model.problem import Problem
from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.binding import Binding, bind, gained
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.kubelet_admission import Admission
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.planning.limits.disruption import disruption_cost
from rescheduler.planning.limits.guards import holding
from rescheduler.planning.limits.landing_trust import calibration
from rescheduler.planning.search.bounds import Survey
from rescheduler.planning.search.corrections import corrected
from rescheduler.planning.search.destinations import describe, refuse_counted, refuse_landing
from rescheduler.planning.search.evacuation import Leaving, Ways
from rescheduler.planning.search.evaluation import Evaluation, Gate
from rescheduler.planning.search.forecast import forecast
from rescheduler.planning.search.justification import Justifications
from rescheduler.planning.search.pending_pods import Waiting
from rescheduler.planning.search.stability import Stability
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.scheduler.model import SchedulerModel

_NO_FINDING_HISTORY = FindingHistory()


class Workspace:
    """Judges single moves on a working copy of one snapshot, and makes those that are committed.

    policies: the policies with a mode; until `start_audit` only the Enforce ones decide.
    history: our own recent moves. plan: the id of the plan that is being carried out; its
    own moves start no cool-down, so that it may move a workload more than once as planned.
    seed: breaks ties, and nothing else. schedulers: what operators declare of them. pinned: name
    of each scheduler to the digest of the profile that the plan being carried out was made with.
    finding history: since when earlier cycles have found trouble.
    """

    def __init__(  # noqa: PLR0913 - what a plan hangs on
        self,
        snapshot: Snapshot,
        policies: Iterable[Policy],
        limits: Limits,
        history: History,
        *,
        seed: int = 0,
        plan: str = "",
        schedulers: Sequence[Scheduler] = (),
        pinned: Mapping[str, str] | None = None,
        finding_history: FindingHistory = _NO_FINDING_HISTORY,
    ) -> None:
        self.snapshot = corrected(snapshot, history)
        self.limits = limits
        self.seed = seed
        self.bindings = bind(policies, self.snapshot)
        self.eligibility = Eligibility(self.snapshot, limits, history, plan=plan)
        self.budgets = Budgets(self.snapshot, limits, history)
        self.moved: set[int] = set()
        self._standing: dict[int, Problem | None] = {}
        self._disruptions: dict[int, float] = {}
        self._history = history
        self.schedulers = schedulers_of(self.snapshot, schedulers, pinned)
        self._scheduler = SchedulerModel(self.snapshot, self.schedulers.profiles)
        self.admission = Admission(self.snapshot)
        landed = frozenset(move.replacement for move in history.moves if move.replacement)
        ways = Ways(self.eligibility, self.budgets, self._scheduler, self.admission, landed)
        for each in self.bindings:
            each.leave(Leaving(each, self.snapshot, limits, ways))
        self.stability = Stability(self.bindings, self.snapshot, finding_history)
        self._waiting = Waiting(self.snapshot, self._scheduler)
        self._undone = {
            (move.workload, move.landedOn, move.source)
            for move in history.moves
            if move.charged and move.landedOn
        }
        self._planned_back: Counter[tuple[str, str, str]] = Counter()
        self._landings: dict[tuple[str, int, int], Landing] = {}
        self._destinations = np.flatnonzero(~self.eligibility.unsettled).astype(np.int32)
        self._start_pass([each for each in self.bindings if each.enforced])

    def _start_pass(self, bindings: list[Binding]) -> None:
        self._active = tuple(
            each for each in bindings if each.term is not None and each.policy.weight > 0
        )
        self._justifications = Justifications(self._active)
        self._gate: Gate | None = None

    @property
    def mode(self) -> Mode:
        """Whose pass this is: in Audit, moves are shown and never acted on."""
        return "Enforce" if all(each.enforced for each in self._active) else "Audit"

    def start_audit(self) -> bool:
        """Let the Audit policies decide too, with a cycle's limits of their own.

        Answers whether there is an Audit policy that has a say.
        """
        if all(each.enforced or each.term is None for each in self.bindings):
            return False
        self.budgets.start_audit()
        self._start_pass(list(self.bindings))
        return True

    def guards(self) -> list[Problem]:
        """What holds the whole cycle (GRD001-GRD003, GRD007); empty lets it go on."""
        return holding(
            self.snapshot,
            self.bindings,
            self.eligibility,
            self.limits,
            self._history,
            self.schedulers,
        )

    @property
    def scheduler(self) -> SchedulerModel:
        """The model of the scheduler on this working copy."""
        return self._scheduler

    def calibration(self) -> Calibration:
        """How far predicted landings can be trusted."""
        return calibration(self._history, self.limits, self.snapshot.cluster.version)

    def candidates(self) -> list[int]:
        """The pods of which a move could lower a cost that decides now; never one moved already."""
        found: set[int] = set()
        for binding in self._deciding:
            found.update(binding.candidates().tolist())
        return sorted(found - self.moved)

    @property
    def _deciding(self) -> list[Binding]:
        """The policies for whose sake this pass moves pods."""
        return [each for each in self._active if each.policy.mode == self.mode]

    def survey(self) -> Survey:
        """What every candidate could gain at best, in the working copy as it is now."""
        candidates = self.candidates()
        refusals = {
            pod: refusal for pod in candidates if (refusal := self._refuse_always(pod)) is not None
        }
        refusals = self.stability.refusals(self._deciding, candidates) | refusals
        free = np.array([pod for pod in candidates if pod not in refusals], dtype=np.int32)
        bounds = dict(zip(free.tolist(), self._bounds(free).tolist(), strict=True))
        disruptions = {pod: self.disruption(pod) for pod, bound in bounds.items() if bound > 0}
        best = sum(bound for bound in bounds.values() if bound > 0)
        self._gate = Gate(
            margin=self.limits.margin,
            share=self.limits.gainShare,
            removable=min(best, self.cost()),
            disruption=sum(disruptions.values()),
        )
        return Survey(bounds, disruptions, refusals, self._gate)

    def cost(self) -> float:
        """The weighted cost of the policies that decide now."""
        return sum(b.policy.weight * b.term.cost() for b in self._active if b.term is not None)

    def disruption(self, pod: int) -> float:
        """The disruption cost of moving the pod, in pods."""
        if pod not in self._disruptions:
            workload = int(self.snapshot.pod_workload[pod])
            ready = self.eligibility.ready(workload) if workload >= 0 else 1
            cost = disruption_cost(self.snapshot.pods[pod], ready, self.snapshot.taken)
            self._disruptions[pod] = cost
        return self._disruptions[pod]

    def judge(self, pod: int) -> Evaluation:
        """Whether to move this pod: the gain over its landing, or the one reason why not."""
        source = int(self.snapshot.pod_node[pod])
        refusal = self._refuse_always(pod) or self.budgets.refusal(pod)
        if refusal is not None:
            return Evaluation(pod, source, refusal=refusal)
        disruption = self.disruption(pod)
        landing = self._landing(pod)
        evaluation = Evaluation(pod, source, disruption=disruption, landing=landing)
        refusal = refuse_landing(self.snapshot, landing, source, self.limits)
        refusal = refusal or self.admission.refusal(pod, source, landing)
        if refusal is not None:
            return replace(evaluation, refusal=refusal)
        evaluation = self._weigh(evaluation, landing)
        return replace(evaluation, refusal=self._refuse_gain(evaluation, landing))

    def forecast(self, moves: Sequence[Evaluation]) -> list[Evaluation]:
        """All committed moves, in order, with the landings that a plan may tell."""
        names = [node.metadata.name for node in self.snapshot.nodes]
        return forecast(self._scheduler, moves, names=names, seed=self.seed)

    def commit(self, evaluation: Evaluation) -> Evaluation:
        """Make the move in the working copy; answers it with the budget that it spends."""
        if evaluation.refusal is not None or evaluation.destination < 0:
            raise ValueError(f"pod {evaluation.pod} was refused and cannot be moved")
        budget = self.budgets.use(evaluation.pod)
        reasons = self._reasons(evaluation)
        self._apply(evaluation.shift)
        self.budgets.spend(evaluation.pod)
        self.moved.add(evaluation.pod)
        self._planned_back[self._back(evaluation)] += 1
        return replace(evaluation, budget=budget, reasons=reasons)

    def needless(self, evaluation: Evaluation) -> bool:
        """Whether the cost would be no higher without a committed move: others do its work."""
        here = np.array([evaluation.source], dtype=np.int32)
        changes = self._changes(evaluation.pod, here).values()
        return float(sum(change[0] for change in changes)) <= 1e-9

    def take_back(self, evaluation: Evaluation) -> None:
        """Undo a committed move in the working copy, and give its budgets back."""
        self._apply(evaluation.shift.reversed())
        self._planned_back[self._back(evaluation)] -= 1
        self.budgets.release(evaluation.pod)
        self.moved.discard(evaluation.pod)

    def tie_break(self, name: str) -> bytes:
        """A fixed order of equals, the same for the same seed, whatever the order of the input."""
        return hashlib.blake2b(f"{self.seed}/{name}".encode(), digest_size=8).digest()

    def _apply(self, shift: Shift) -> None:
        for binding in self.bindings:
            binding.commit(shift)
        self._scheduler.commit(shift)
        self.admission.commit(shift)
        self._landings.clear()

    def _changes(self, pod: int, nodes: IntArray) -> dict[str, FloatArray]:
        """Policy name to the (k,) weighted change of its cost if the pod moved to each node."""
        return {
            binding.policy.name: binding.policy.weight * binding.term.deltas(pod, nodes)
            for binding in self._active
            if binding.term is not None
        }

    def _worth(self, pod: int, nodes: IntArray) -> dict[str, FloatArray]:
        """The changes; on a node that a policy finds overfilled, it gains nothing."""
        changes = self._changes(pod, nodes)
        for binding in self._active:
            change = changes[binding.policy.name]
            full = binding.overfills(pod, nodes)
            changes[binding.policy.name] = np.where(full, np.maximum(change, 0.0), change)
        return changes

    def _weigh(self, evaluation: Evaluation, landing: Landing) -> Evaluation:
        """The evaluation with its gains: minus the expected change of cost; coming back gains 0."""
        source = evaluation.source
        changes = self._worth(evaluation.pod, landing.nodes)
        away = np.where(landing.nodes == source, 0.0, landing.probabilities)
        gains = {
            each.policy.name: -float(away @ changes[each.policy.name]) / each.policy.weight
            for each in self._active
        }
        return replace(
            evaluation,
            destination=self._destination(landing, source, sum(changes.values(), np.zeros(1))),
            gain=sum(b.policy.weight * gains.get(b.policy.name, 0.0) for b in self._active),
            gains=gains,
        )

    def _bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod could lower the weighted cost, wherever it went."""
        total = np.zeros(len(pods))
        for binding in self._active:
            bounding = binding.bounding
            if bounding is not None:
                total += binding.policy.weight * bounding.bounds(pods)
            elif binding.term is not None and len(self._destinations):
                term, weight = binding.term, binding.policy.weight
                best = [
                    -float(np.min(term.deltas(pod, self._destinations))) for pod in pods.tolist()
                ]
                total += weight * np.array(best)
        return total

    def _refuse_always(self, pod: int) -> Problem | None:
        """What keeps the pod where it is, whatever the plan does; worked out once."""
        if pod not in self._standing:
            self._standing[pod] = self.eligibility.refusal(pod) or self.budgets.permanent(pod)
        return self._standing[pod]

    def _landing(self, pod: int) -> Landing:
        """The landing; equal pods of one ReplicaSet on one node land alike, so it is kept."""
        each = self.snapshot.pods[pod]
        owner = each.controller
        if owner is None or owner.kind != "ReplicaSet" or each.spec.volumes:
            return self._scheduler.landing(pod)
        # The snapshot keeps every spec alive, so an id stands for one spec.
        key = (owner.uid, int(self.snapshot.pod_node[pod]), id(each.spec))
        if key not in self._landings:
            self._landings[key] = self._scheduler.landing(pod)
        return self._landings[key]

    def _destination(self, landing: Landing, source: int, change: FloatArray) -> int:
        """The most likely node that is not the source; of equals the best, then by the seed.

        change: (k,) of the weighted cost per landing node. A plan that put a move on the worse of
        two equally likely nodes would not show the gain for which it was made.
        """
        elsewhere = landing.nodes != source
        nodes, chances = landing.nodes[elsewhere], landing.probabilities[elsewhere]
        if not len(nodes):
            return -1
        likely = chances >= chances.max() - 1e-9
        worth = change[elsewhere][likely]
        best = nodes[likely][worth <= worth.min() + 1e-9]
        return int(best[self._precedence[best].argmin()])

    @cached_property
    def _precedence(self) -> IntArray:
        """(nodes,) where each node stands in the fixed order of equals."""
        order = [self.tie_break(node.metadata.name) for node in self.snapshot.nodes]
        answer = np.empty(len(order), dtype=np.int32)
        answer[sorted(range(len(order)), key=order.__getitem__)] = np.arange(len(order))
        return answer

    def _refuse_gain(self, evaluation: Evaluation, landing: Landing) -> Problem | None:
        gate = self._gate or self.survey().gate
        if evaluation.destination < 0:
            text = f"it could only come back; {describe(self.snapshot, landing)}"
            return Problem(code="FEA002", message=text)
        refusal = gate.refusal(evaluation.gain, evaluation.disruption)
        if refusal is not None:
            text = f"{refusal.message}; {describe(self.snapshot, landing)}"
            return Problem(code=refusal.code, message=text)
        deciding = [each for each in self._deciding if each.moves(evaluation.pod)]
        wanted = gained(deciding, evaluation.gains)
        if wanted <= 1e-9:
            return Problem(
                code="FEA003", message=f"no policy in mode {self.mode} gains: {wanted:+.2f}"
            )
        refusal = self.stability.refuse_move(evaluation, self._active, deciding, gate)
        if refusal is not None:
            return refusal
        wanting = [each for each in self._active if evaluation.gains.get(each.policy.name, 0.0) > 0]
        return (
            refuse_counted(self.snapshot, landing, evaluation, wanting, self.eligibility)
            or self._refuse_undoing(evaluation)
            or self._waiting.refusal(evaluation.pod, landing)
        )

    def _refuse_undoing(self, evaluation: Evaluation) -> Problem | None:
        way = self._way(evaluation.pod, evaluation.source, evaluation.destination)
        if way not in self._undone and not self._planned_back[way]:
            return None
        return Problem(
            code="MRG003",
            message=f"a pod of its workload was moved from {way[2]} to {way[1]} within the last "
            "day or in this plan, and this move would undo it",
        )

    def _back(self, evaluation: Evaluation) -> tuple[str, str, str]:
        return self._way(evaluation.pod, evaluation.destination, evaluation.source)

    def _way(self, pod: int, start: int, end: int) -> tuple[str, str, str]:
        nodes = self.snapshot.nodes
        workload = int(self.snapshot.pod_workload[pod])
        uid = self.snapshot.workloads[workload].uid if workload >= 0 else ""
        return (uid, nodes[start].metadata.name, nodes[end].metadata.name)

    def _reasons(self, evaluation: Evaluation) -> tuple[Problem, ...]:
        found = (
            self._justifications.of(
                evaluation.pod, evaluation.source, each, evaluation.gains[each.policy.name]
            )
            for each in self._active
            if evaluation.gains.get(each.policy.name, 0.0) > 0
        )
        return tuple(reason for reason in found if reason is not None)

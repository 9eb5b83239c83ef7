"""The working copy: terms, scheduler model and budgets, moved along together as a plan grows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import count

import numpy as np

from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import Mode
from rescheduler.model.problem import Problem
from rescheduler.planning.binding import Binding, bind
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.kubelet_admission import KubeletAdmission
from rescheduler.planning.evaluation.corrections import correct_readings
from rescheduler.planning.evaluation.evacuation import Leaving, Ways
from rescheduler.planning.evaluation.evaluation import Evaluation, JointEvaluation
from rescheduler.planning.evaluation.justification import Justifications
from rescheduler.planning.evaluation.relief_begun import relief_begun
from rescheduler.planning.evaluation.reverse_moves import Reversals
from rescheduler.planning.evaluation.tie_breaks import precedence
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.planning.limits.demotion import in_force
from rescheduler.planning.limits.disruption import Disruptions
from rescheduler.planning.limits.holds import Holds, holds_of
from rescheduler.planning.other_requests import other_requests
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.policies.terms import ROOM
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.scheduler.model import SchedulerModel

_NO_FINDING_HISTORY = FindingHistory()


class WorkingCopy:
    """One snapshot with the moves that a plan has made so far, and what may still be spent.

    policies: the policies with a mode, which is Audit while one is demoted; until `start_audit`
    only the Enforce ones decide.
    history: our own recent moves. plan: the id of the plan that is being carried out; its
    own moves start no cool-down, so that it may move a workload more than once as planned.
    seed: breaks ties, and nothing else. schedulers: what operators declare of them. pinned: name
    of each scheduler to the digest of the profile that the plan being carried out was made with.
    finding history: since when earlier cycles have had each finding. attended: whether people
    decide on the plan, who see what each policy selects.

    unroomed: gangs to why our own limits never let room be made for them.
    version: a number of its state; no two states have the same.
    told: (nodes,) replacements of this plan that are steered to each node.
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
        attended: bool = False,
    ) -> None:
        self.snapshot = correct_readings(snapshot, history)
        self.limits = limits
        self.history = history
        self.seed = seed
        self.finding_history = finding_history
        self.attended = attended
        enforced = in_force(policies, history, snapshot.taken, attended=attended)
        self.bindings = bind(enforced, self.snapshot)
        self.schedulers = schedulers_of(self.snapshot, schedulers, pinned)
        self.eligibility = Eligibility(
            self.snapshot, limits, history, plan=plan, schedulers=self.schedulers.by_name
        )
        self.budgets = Budgets(self.snapshot, limits, history, plan)
        self.scheduler = SchedulerModel(self.snapshot, self.schedulers.profiles)
        self.admission = KubeletAdmission(self.snapshot)
        landed = frozenset(move.replacement for move in history.moves if move.replacement)
        sources = frozenset(move.source for move in history.recent(snapshot.taken) if move.charged)
        ways = Ways(self.eligibility, self.budgets, self.scheduler, self.admission, landed, sources)
        for binding in self.bindings:
            binding.leave(Leaving(binding, self.snapshot, limits, ways))
            binding.continue_relief(relief_begun(binding.policy.name, self.snapshot, history))
        self.reversals = Reversals(self.snapshot, history)
        self.moved: set[int] = set()
        self.unroomed: dict[str, Problem] = {}
        self.told = np.zeros(len(snapshot.nodes), dtype=np.int32)
        self.disruptions = Disruptions(self.snapshot, self.eligibility, history)
        self._landings: dict[tuple[str, int, int], Landing] = {}
        self._versions = count()
        self._start_pass([binding for binding in self.bindings if binding.enforced])

    @cached_property
    def holds(self) -> Holds:
        """Who is left alone as earlier moves went wrong."""
        return holds_of(self.snapshot, self.eligibility, self.limits, self.history, self.scheduler)

    def refuse_held(self, pod: int) -> Problem | None:
        """Why this pod is left alone as earlier moves went wrong, or None."""
        pod_object = self.snapshot.pods[pod]
        kind = pod_object.controller.kind if pod_object.controller is not None else ""
        return self.holds.refusal(pod_object.metadata.namespace, kind)

    def refusals_of_held(self, pods: IntArray) -> dict[int, Problem]:
        """What `refuse_held` answers to each of these; those that are not held are not in it."""
        if not self.holds.some:
            return {}
        refusals = ((pod, self.refuse_held(pod)) for pod in pods.tolist())
        return {pod: refusal for pod, refusal in refusals if refusal is not None}

    @cached_property
    def precedence(self) -> IntArray:
        """(nodes,) where each node stands in the fixed order of equals."""
        return precedence(self.seed, [node.metadata.name for node in self.snapshot.nodes])

    def _start_pass(self, bindings: list[Binding]) -> None:
        self.active = tuple(
            binding
            for binding in bindings
            if binding.term is not None and binding.policy.weight > 0
        )
        self._justifications = Justifications(self.active)
        self.version = next(self._versions)

    @property
    def mode(self) -> Mode:
        """Whose pass this is: in Audit, moves are shown and never acted on."""
        return "Enforce" if all(binding.enforced for binding in self.active) else "Audit"

    def start_audit(self) -> bool:
        """Let the Audit policies decide too, with a cycle's limits of their own.

        Answers whether there is an Audit policy that is evaluated.
        """
        if all(b.enforced or b.term is None or b.policy.weight <= 0 for b in self.bindings):
            return False
        self.budgets.start_audit()
        self._start_pass(list(self.bindings))
        return True

    @property
    def deciding(self) -> list[Binding]:
        """The policies for whose sake this pass moves pods."""
        return [binding for binding in self.active if binding.policy.mode == self.mode]

    def candidates(self) -> list[int]:
        """The pods whose move could lower a cost that decides now; never one moved already."""
        wanted = np.zeros(len(self.snapshot.pods), dtype=np.bool_)
        for binding in self.deciding:
            wanted[binding.candidates()] = True
        wanted[list(self.moved)] = False
        return np.flatnonzero(wanted).tolist()

    def cost(self) -> float:
        """The weighted cost of the policies that decide now."""
        return sum(b.policy.weight * b.term.cost() for b in self.active if b.term is not None)

    def gangs_without_room(self) -> frozenset[str]:
        """The gangs that wait for room as a whole, as the policies that decide now see it."""
        roomy = (binding.roomy for binding in self.active)
        return frozenset(
            gang for term in roomy if term is not None for gang in term.gangs_without_room()
        )

    def changes(self, pod: int, nodes: IntArray) -> dict[str, FloatArray]:
        """Policy name to the (k,) weighted change of its cost if the pod moved to each node."""
        return {
            binding.policy.name: binding.policy.weight * binding.term.deltas(pod, nodes)
            for binding in self.active
            if binding.term is not None
        }

    def worth(
        self, pod: int, nodes: IntArray, changes: Mapping[str, FloatArray]
    ) -> dict[str, FloatArray]:
        """These `changes`; on a node that a policy finds overfilled, nothing is gained for it."""
        worth = dict(changes)
        for binding in self.active:
            if binding.fills:
                change = changes[binding.policy.name]
                full = binding.overfills(pod, nodes)
                worth[binding.policy.name] = np.where(full, np.maximum(change, 0.0), change)
        return worth

    def disruption(self, pod: int) -> float:
        """The disruption cost of moving the pod, in pods."""
        return self.disruptions[pod]

    def landing(self, pod: int) -> Landing:
        """The landing; equal pods of one ReplicaSet on one node land alike, so it is kept."""
        pod_object = self.snapshot.pods[pod]
        owner = pod_object.controller
        if owner is None or owner.kind != "ReplicaSet" or pod_object.spec.volumes:
            return self.scheduler.landing(pod)
        # The snapshot keeps every spec alive, so an id stands for one spec.
        key = (owner.uid, int(self.snapshot.pod_node[pod]), id(pod_object.spec))
        if key not in self._landings:
            self._landings[key] = self.scheduler.landing(pod)
        return self._landings[key]

    def commit(self, evaluation: JointEvaluation) -> JointEvaluation:
        """Make the moves, all or none; answers them with the budgets that they spend.

        Raises:
            ValueError: they were refused, or one of the pods was moved before.
        """
        if evaluation.refusal is not None or any(m.destination < 0 for m in evaluation.moves):
            raise ValueError(f"pods {evaluation.pods} were refused and cannot be moved")
        if not self.moved.isdisjoint(evaluation.pods):
            raise ValueError(f"of the pods {evaluation.pods} some were moved before")
        whole = self.whole_gang(evaluation.pods) is not None
        made: list[Evaluation] = []
        for move in evaluation.moves:
            before = [made_move.pod for made_move in made]
            made.append(
                self._make(move, whole=whole, follows=whole and self.follows(move.pod, before))
            )
        room = made[0].room
        if room:
            made = [self._in_room(made_move, len(made)) for made_move in made]
        elif not whole:
            made[:-1] = [self._with_purpose(made_move, made[-1]) for made_move in made[:-1]]
        return replace(evaluation, moves=tuple(made))

    def whole_gang(self, pods: Sequence[int]) -> Gang | None:
        """The gang whose pods these are, if they are several and all of it."""
        gang = self.snapshot.gangs.gang_of(pods[0]) if len(pods) > 1 else None
        if gang is None:
            return None
        return gang if set(pods) == set(self.snapshot.gangs.facts(gang).members.tolist()) else None

    def group(self, pods: Sequence[int]) -> str:
        """The name of the gang that these pods are as a whole; "" where they are none."""
        gang = self.whole_gang(pods)
        return "" if gang is None else f"{gang.name} ({gang.mark})"

    def follows(self, pod: int, earlier: Iterable[int]) -> bool:
        """Whether one of the earlier pods is of the same workload."""
        owners = self.snapshot.pod_workload
        return any(owners[earlier_pod] == owners[pod] for earlier_pod in earlier)

    def _make(self, move: Evaluation, *, whole: bool, follows: bool) -> Evaluation:
        budget = self.budgets.use(move.pod)
        request_change = other_requests(self.snapshot, move.pod)
        reasons = (*self._reasons(move), *([request_change] if request_change else []))
        self._apply(move.shift)
        self.budgets.spend(move.pod, whole=whole, follows=follows)
        self.moved.add(move.pod)
        if move.choice is not None:
            self.told[move.choice.nodes] += 1
        self.reversals.commit(move)
        return replace(move, budget=budget, reasons=reasons)

    def take_back(self, evaluation: JointEvaluation) -> None:
        """Undo committed moves, all of them, and give their budgets back."""
        for move in reversed(evaluation.moves):
            self._apply(move.shift.shift_back())
            self.budgets.release(move.pod)
            self.moved.discard(move.pod)
            if move.choice is not None:
                self.told[move.choice.nodes] -= 1
            self.reversals.take_back(move)

    @contextmanager
    def try_shift(self, shift: Shift) -> Iterator[None]:
        """Only within it the pod is elsewhere; budgets are not charged for that."""
        version, landings = self.version, self._landings
        self._apply(shift)
        try:
            yield
        finally:
            self._apply(shift.shift_back())
            self.version, self._landings = version, landings

    def _apply(self, shift: Shift) -> None:
        for binding in self.bindings:
            binding.commit(shift)
        self.scheduler.commit(shift)
        self.admission.commit(shift)
        self._landings = {}
        self.version = next(self._versions)

    def _with_purpose(self, move: Evaluation, last: Evaluation) -> Evaluation:
        """The move with what it is made for, beside what it gains by itself."""
        node = self.snapshot.nodes[last.destination].metadata.name
        room = MoveReason(code="FEA012", pod=self.snapshot.pods[last.pod].key, node=node)
        return replace(move, reasons=(*move.reasons, room))

    @staticmethod
    def _in_room(move: Evaluation, count: int) -> Evaluation:
        """The move with what it is made for, beside what it gains by itself."""
        room = MoveReason(code=ROOM, gang=move.room, others=count - 1)
        return replace(move, reasons=(room, *move.reasons))

    def _reasons(self, move: Evaluation) -> tuple[MoveReason, ...]:
        gaining = [
            binding for binding in self.active if move.gains.get(binding.policy.name, 0.0) > 0
        ]
        for ask in (self._justifications.reason_of, self._justifications.now):
            answers = [ask(move.pod, move.source, b, move.gains[b.policy.name]) for b in gaining]
            if reasons := tuple(reason for reason in answers if reason is not None):
                return reasons
        if move.group:
            return (MoveReason(code="FEA014", gang=move.group),)
        node = self.snapshot.nodes[move.destination].metadata.name
        return tuple(
            MoveReason(
                code="FEA015",
                node=node,
                policy=binding.policy.name,
                gain=move.gains[binding.policy.name],
                weight=binding.policy.weight,
            )
            for binding in gaining
        )

"""What may still be spent along the plan: PodDisruptionBudgets, quotas, and our own limits."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import BudgetUse
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.gang_members import SpareMembers
from rescheduler.planning.limits.move_limits import MoveLimits
from rescheduler.planning.limits.quotas import Quotas
from rescheduler.planning.limits.shares import SHARE, Shares
from rescheduler.policies.limits import Limits


class Budgets:
    """A working copy of every budget: `spend` takes from it, `release` gives back.

    A PodDisruptionBudget's allowance is what its status allows minus the moves of this plan, as if
    no replacement became Ready in between: the plan never counts on time. A pod that is not Ready
    spends none where the Eviction API lets it go without (`unhealthyPodEvictionPolicy`).
    Our own limits count the moves of the past too, as the history holds them at the beginning.

    follows: a pod of the same workload and gang, which moves with it, was charged already: limits
    by workload count both as one move.
    shares: what each tenant may take of our limits on all moves, once somebody wants something.
    """

    def __init__(
        self, snapshot: Snapshot, limits: Limits, history: History, plan: str = ""
    ) -> None:
        """plan: the id of the plan that is being carried out, whose moves are in the history."""
        self._snapshot = snapshot
        self._limits = MoveLimits(snapshot, limits, history, snapshot.taken, plan)
        self.shares = Shares(snapshot, limits, self._limits.overall)
        self._quotas = Quotas(snapshot)
        self._spent: Counter[int] = Counter()
        self._unspent: set[int] = set()
        self._spare = SpareMembers(snapshot, history)
        self._spared: Counter[Gang] = Counter()
        self._together: set[int] = set()
        self._following: set[int] = set()
        self._selected: dict[tuple[str, int], list[int]] = {}
        self._start_cycle()

    def _start_cycle(self) -> None:
        self._moves = 0
        self._planned: list[dict[int | None, int]] = [{} for _ in self._limits.rows]
        self.shares.start()

    def start_audit(self) -> None:
        """Begin the pass of the Audit policies: it has a cycle's own limits for itself.

        What PodDisruptionBudgets and quotas allow stays spent; nothing of this pass is acted on.
        """
        self._start_cycle()

    def budgets_of(self, pod: int) -> list[int]:
        """The indices of the PodDisruptionBudgets that select this pod."""
        metadata = self._snapshot.pods[pod].metadata
        # The snapshot keeps the labels alive, so an id stands for one set of labels.
        key = (metadata.namespace, id(metadata.labels))
        if key not in self._selected:
            self._selected[key] = self._snapshot.budgets_of(pod)
        return self._selected[key]

    def use(self, pod: int) -> BudgetUse | None:
        """The PodDisruptionBudget that the pod would spend, and what is left of it now."""
        for index in self.budgets_of(pod):
            if self._free(pod, index):
                return None
            return BudgetUse(
                name=self._snapshot.budgets[index].metadata.name,
                allowed=self._disruptions_allowed(index),
            )
        return None

    def refusal(self, pod: int, *, whole: bool = False, follows: bool = False) -> Problem | None:
        """The first budget without anything for this pod: BUD001-BUD004, ELG027, `limit_codes`.

        whole: whether all of its gang is moved.
        """
        return self.overall_refusal() or self.used_up(pod, whole=whole, follows=follows)

    def used_up(self, pod: int, *, whole: bool = False, follows: bool = False) -> Problem | None:
        """What `refusal` answers while the plan may have more moves."""
        return self._reached_limit(pod, follows=follows) or self.cluster_refusal(pod, whole=whole)

    def cluster_refusal(self, pod: int, *, whole: bool = False) -> Problem | None:
        """BUD001-BUD004 and ELG027: what the cluster allows, and has nothing left for this pod."""
        gang_refusal = None if whole else self._refuse_gang_minimum(pod)
        return gang_refusal or self._refuse_pdb(pod) or self._quotas.refusal(pod)

    def overall_refusal(self) -> Problem | None:
        """Why nothing more may be planned, whatever the pod: our limits on all moves."""
        return self._limits.overall_refusal(self._moves)

    @property
    def limit_codes(self) -> tuple[str, ...]:
        """The reason codes of our own limits, in the order in which they are checked."""
        return self._limits.codes

    def share_out(self, refused: Mapping[tuple[int, ...], Problem]) -> bool:
        """Whether any of these may move after all: of tenants that have their share (BUD005)."""
        shared = [pod for pods, why in refused.items() if why.code == SHARE for pod in pods]
        return self.overall_refusal() is None and self.shares.share_out(shared)

    def remaining_moves(self) -> int:
        """How many more moves may be planned, whatever the pods."""
        return self._limits.remaining_moves(self._moves)

    def groups(self) -> list[tuple[IntArray, IntArray]]:
        """What limits the moves of some pods: our limits not on all, and PodDisruptionBudgets.

        Of each: (pods,) whose share each pod spends, by number, and (k,) how many more moves each
        allows as the plan is now.
        """
        snapshot = self._snapshot
        firsts, template = snapshot.pod_template
        groups = self._limits.groups()
        for (_, remaining), planned in zip(groups, self._planned, strict=True):
            for group, moves in planned.items():
                if group is not None:
                    remaining[group] -= moves
        unbudgeted = len(snapshot.budgets)
        selecting = [(self.budgets_of(pod) or [unbudgeted])[0] for pod in firsts.tolist()]
        allowed = [self._disruptions_allowed(budget) for budget in range(unbudgeted)]
        budget = np.array(selecting, dtype=np.int32)[template]
        return [*groups, (budget, np.array([*allowed, len(snapshot.pods)], dtype=np.int32))]

    def permanent(self, pod: int) -> Problem | None:
        """BUD001 or BUD003: what no later cycle of this snapshot could change."""
        indices = self.budgets_of(pod)
        if len(indices) > 1:
            names = ", ".join(self._snapshot.budgets[index].metadata.name for index in indices)
            return Problem(
                code="BUD001", message=f"{len(indices)} PodDisruptionBudgets select it: {names}"
            )
        for index in indices:
            if doubt := self._snapshot.budgets[index].doubt:
                return Problem(code="BUD003", message=doubt)
        return None

    def permanents(self, pods: IntArray) -> dict[int, Problem]:
        """What `permanent` answers to each of the pods; those it does not refuse are not in it."""
        of_template = self._snapshot.pod_template[1][pods]  # what selects one selects the others
        templates, firsts = np.unique(of_template, return_index=True)
        pairs = zip(templates.tolist(), pods[firsts].tolist(), strict=True)
        refused = {template: self.permanent(pod) for template, pod in pairs}
        return {
            pod: refusal
            for pod, template in zip(pods.tolist(), of_template.tolist(), strict=True)
            if (refusal := refused[template]) is not None
        }

    def too_large(self, gang: Gang) -> Problem | None:
        """ELG030: whether the gang has more pods than the Limits ever let move at once.

        It stands still from its first eviction on, so a later cycle cannot move the rest of it.
        """
        pods = self._snapshot.gangs.facts(gang).members.tolist()
        excess = self._limits.too_many(pods, gang=True)
        return (
            Problem(code="ELG030", message=f"gang {gang.name} needs {excess}") if excess else None
        )

    def too_many(self, pods: Iterable[int]) -> str:
        """Which of our limits never lets these pods move in one cycle, with both numbers, or ""."""
        return self._limits.too_many(pods)

    def spend(self, pod: int, *, whole: bool = False, follows: bool = False) -> None:
        """Charge a move of this pod to every budget that it touches.

        whole: whether all of its gang is moved, so that its surplus is not checked.
        """
        if whole:
            self._together.add(pod)
        if follows:
            self._following.add(pod)
        self._charge(pod, 1)

    def release(self, pod: int) -> None:
        """Give back what a move of this pod was charged: it was dropped from the plan."""
        self._charge(pod, -1)
        self._together.discard(pod)
        self._following.discard(pod)

    def _charge(self, pod: int, sign: int) -> None:
        self._moves += sign
        self.shares.charge(pod, sign)
        follows = pod in self._following
        groups = self._limits.of_pod(pod).groups
        for row, planned, group in zip(self._limits.rows, self._planned, groups, strict=True):
            if not (follows and row.per.gang_is_one):
                planned[group] = planned.get(group, 0) + sign
        gang = None if pod in self._together else self._snapshot.gangs.gang_of(pod)
        if gang is not None:
            self._spared[gang] += sign
        for index in self.budgets_of(pod):
            if sign > 0 and self._free(pod, index):
                self._unspent.add(pod)
            elif sign > 0 or pod not in self._unspent:
                self._spent[index] += sign
        if sign < 0:
            self._unspent.discard(pod)
        self._quotas.charge(pod, sign)

    def _free(self, pod: int, index: int) -> bool:
        """Whether the Eviction API takes nothing of this budget for the pod: it is not Ready.

        Source: pkg/registry/core/pod/storage/eviction.go. IfHealthyBudget, the
        default, asks for as many healthy pods as are desired; those of this plan are gone by then.
        """
        if self._snapshot.pods[pod].ready:
            return False
        budget = self._snapshot.budgets[index]
        if budget.spec.unhealthyPodEvictionPolicy == "AlwaysAllow":
            return True
        healthy = budget.status.currentHealthy - self._spent[index]
        return 0 < budget.status.desiredHealthy <= healthy

    def _disruptions_allowed(self, index: int) -> int:
        return self._snapshot.budgets[index].status.disruptionsAllowed - self._spent[index]

    def _refuse_pdb(self, pod: int) -> Problem | None:
        indices = self.budgets_of(pod)
        if indices and (refusal := self.permanent(pod)):
            return refusal
        for index in indices:
            if self._free(pod, index):
                continue
            allowed = self._snapshot.budgets[index].status.disruptionsAllowed
            if self._disruptions_allowed(index) <= 0:
                spent = self._spent[index]
                status = self._snapshot.budgets[index].status
                return Problem(
                    code="BUD002",
                    message=f"PodDisruptionBudget {self._snapshot.budgets[index].metadata.name} "
                    f"allows {allowed} and the plan spends {spent}; "
                    f"{status.currentHealthy} of {status.desiredHealthy} needed are healthy",
                )
        return None

    def _refuse_gang_minimum(self, pod: int) -> Problem | None:
        """ELG027: whether earlier moves of the plan leave the gang no member above its minimum.

        What it can spare without them is a matter of eligibility.
        """
        gang = self._snapshot.gangs.gang_of(pod)
        moved = 0 if gang is None else self._spared[gang]
        if gang is None or not moved or moved < self._spare.spare_count(gang):
            return None
        text = (
            f"gang {gang.name} can spare {self._spare.spare_count(gang)}, and the plan "
            f"moves {moved}"
        )
        return Problem(code="ELG027", message=text)

    def _reached_limit(self, pod: int, *, follows: bool) -> Problem | None:
        """Which of our limits that are not on all moves the pod's groups have reached."""
        return self._limits.reached_limit(self._limits.of_pod(pod), self._planned, follows=follows)

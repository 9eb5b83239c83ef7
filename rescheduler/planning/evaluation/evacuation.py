"""Whether a node's pods may leave it, and where they would land: what `Pack` must know."""

from dataclasses import dataclass

from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.planning.binding import Binding
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.kubelet_admission import KubeletAdmission
from rescheduler.planning.evaluation.destinations import refuse_landing, refuse_untrusted
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel

_COOLS_DOWN = "ELG022"
"""We moved a pod of the workload just now. Its others follow later, so its node is still freed."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What decides whether a pod may leave, and where it goes.

    scheduler, admission: the working copies of the plan, which are as before once all is undone.
    landed: UIDs of the replacements of our own moves, as long as these are remembered. sources: the
    names of the nodes that their pods have left.
    """

    eligibility: Eligibility
    budgets: Budgets
    scheduler: SchedulerModel
    admission: KubeletAdmission
    landed: frozenset[str]
    sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class Leaving:
    """How pods leave their nodes for one policy's sake (`policies.terms.Evacuation`)."""

    binding: Binding
    snapshot: Snapshot
    limits: Limits
    ways: Ways

    def leaves(self, pod: int) -> bool:
        """Whether the pod may be evicted, now or once its workload is stable again after our moves.

        A pod that we have moved is not moved on: a node that took load is often cold. What a
        PodDisruptionBudget allows is checked for each pod alone: they leave one by one.
        """
        uid = self.snapshot.pods[pod].metadata.uid
        if not self.binding.moves(pod) or uid in self.ways.landed:
            return False
        if self.ways.budgets.cluster_refusal(pod) is not None:
            return False
        refusal = self.ways.eligibility.refusal(pod)
        if refusal is None or refusal.code != _COOLS_DOWN:
            return refusal is None
        problems = (code for _, code in self.ways.eligibility.checks(pod))
        return all(code is None or code.code == _COOLS_DOWN for code in problems)

    def has_begun(self, node: int) -> bool:
        """Whether pods have left the node by our own recent moves."""
        return self.snapshot.nodes[node].metadata.name in self.ways.sources

    def landing(self, pod: int, blocked: BoolArray) -> int:
        """The node outside of `blocked` where its replacement most likely lands; -1: none."""
        ways, source = self.ways, int(self.snapshot.pod_node[pod])
        landing = ways.scheduler.landing(pod)
        refusal = (
            refuse_landing(self.snapshot, landing, source, self.limits)
            or ways.admission.refusal(pod, source, landing)
            or refuse_untrusted(landing, pod, [self.binding], ways.eligibility, self.snapshot)
        )
        if refusal is not None:
            return -1
        away = landing.nodes != source
        nodes, chances = landing.nodes[away], landing.probabilities[away]
        if not len(nodes):
            return -1
        likely = nodes[chances >= chances.max() - 1e-9]
        free = likely[~blocked[likely]].tolist()
        return min(free, key=lambda node: self.snapshot.nodes[node].metadata.name, default=-1)

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copies; the reversed shift undoes it."""
        self.ways.scheduler.commit(shift)
        self.ways.admission.commit(shift)

"""Remedies: changes that may take away what leaves candidates alone, those first that most want."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.files.policy_set import PolicySet


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """A change, and what planning again starts from with it.

    code: of what is in the way. change, how, risk, decides: as in `Suggestion`. pods: how many
    candidates it is about. snapshot: None where the cluster stays as it is. tries: whether it can
    be tried at all; lacking: why not, where that is to be said.
    """

    code: str
    change: str
    policies: PolicySet
    how: str = ""
    pods: int = 0
    snapshot: Snapshot | None = None
    risk: str = ""
    decides: str = ""
    tries: bool = True
    lacking: str = ""


@dataclass(frozen=True)
class Situation:
    """A plan that leaves something wrong, with what it was made from and what it refused."""

    plan: Plan
    policies: PolicySet
    copy: WorkingCopy
    refusals: Mapping[int, Problem]

    @property
    def snapshot(self) -> Snapshot:
        """The cluster."""
        return self.copy.snapshot

    def refused_by(self, *codes: str) -> Iterator[int]:
        """The candidates that are refused with one of these codes."""
        return (pod for pod, refusal in self.refusals.items() if refusal.code in codes)

    def count(self, *codes: str) -> int:
        """How many candidates are refused with one of these codes."""
        return sum(self.plan.totals.refused.get(code, 0) for code in codes)

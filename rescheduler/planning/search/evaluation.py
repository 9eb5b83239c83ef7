"""The verdict on one pod: what moving it would gain and cost, or why it is left alone."""

from dataclasses import dataclass, field

from rescheduler.model.move import Landing, Shift
from rescheduler.model.plan import BudgetUse
from rescheduler.model.problem import Problem

_NOTHING = 1e-9
"""A gain below this is rounding."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What moving one pod would do, in the working copy as it was when it was judged.

    source, destination: node indices; destination is the most likely landing, -1 without one.
    gain: expected decrease of the weighted cost. gains: the unweighted gain of each policy.
    disruption: in pods. landing: where the replacement will be put, None if it was not asked for.
    reasons, budget: the findings that the move serves, and the PodDisruptionBudget that it spends;
    told once it is committed. refusal: why not, or None.
    """

    pod: int
    source: int
    destination: int = -1
    gain: float = 0.0
    gains: dict[str, float] = field(default_factory=dict)
    disruption: float = 1.0
    landing: Landing | None = None
    reasons: tuple[Problem, ...] = ()
    budget: BudgetUse | None = None
    refusal: Problem | None = None

    @property
    def value(self) -> float:
        """Gain per disruption: what the search goes by."""
        return self.gain / self.disruption

    @property
    def shift(self) -> Shift:
        """The move as the working copy makes it."""
        return Shift(self.pod, self.source, self.destination)


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate for acting: a margin, and a share of gain that answers for the share of disruption.

    removable: weighted cost that the candidates could remove at best, together.
    disruption: what all of them would cost to move.

    A move passes when (gain / removable) / (its disruption / disruption) reaches `share`: when it
    gains at least that part of what the average candidate could gain at best, per disruption. It
    is the ratio by which Karpenter's balanced consolidation decides.
    """

    margin: float
    share: float
    removable: float
    disruption: float

    def refusal(self, gain: float, disruption: float, *, landed: bool = True) -> Problem | None:
        """FEA003, MRG001 or MRG002, or None. landed False: the gain is that on the best node."""
        best = "" if landed else " even on the best node"
        if gain <= _NOTHING:
            where = "where it would land" if landed else "on any node"
            return Problem(
                code="FEA003", message=f"it would be no better placed {where}: gain {gain:+.2f}"
            )
        if gain <= self.margin:
            return Problem(
                code="MRG001",
                message=f"its gain{best} is {gain:.3g}, and the margin {self.margin:g}",
            )
        if self.removable <= 0 or self.disruption <= 0:
            return None
        ratio = (gain / self.removable) / (disruption / self.disruption)
        if ratio < self.share:
            return Problem(
                code="MRG002",
                message=f"its gain{best} of {gain:.3g} is {gain / self.removable:.1%} of what can "
                f"be removed, for {disruption / self.disruption:.1%} of the disruption: "
                f"a ratio of {ratio:.2f}, and {self.share:g} is asked for (gainShare)",
            )
        return None

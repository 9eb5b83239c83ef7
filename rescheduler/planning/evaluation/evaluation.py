"""The evaluation of a move: gain, cost and landing, or the refusal; the threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import BudgetUse
from rescheduler.model.moves.steering_entry import Strength
from rescheduler.model.problem import Problem
from rescheduler.scheduler.plugin import Steer

NOTHING = 1e-9
"""A gain below this is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How the replacement of one move is steered, and what that changes.

    nodes: the acceptable ones, best first. steer: as the scheduler model has it.
    unsteered, landing: where it is put without and with it.
    """

    by: str
    strength: Strength
    nodes: IntArray
    steer: Steer
    unsteered: Landing
    landing: Landing

    def with_landing(self, landing: Landing) -> "Choice":
        """The same, with the landing that it leads to."""
        return replace(self, landing=landing)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What moving one pod would do, in the working copy as it was when it was evaluated.

    source, destination: node indices; destination is the most likely landing, -1 without one.
    gain: expected decrease of the weighted cost. gains: the unweighted gain of each policy.
    likely_gain: the decrease of the weighted cost at the destination.
    disruption: in pods. landing: where the replacement will be put.
    reasons, budget: the findings that the move serves, and the PodDisruptionBudget that it spends;
    published once it is committed. group: what it is moved with, all or none; "" alone. room: the
    gang that it makes room for, all moves with this room or none; "" for none.
    choice: how its replacement is steered; None: not at all. after: the pods that make room for
    it: it is moved once their replacements run elsewhere, and not at all if they stay.
    """

    pod: int
    source: int
    destination: int = -1
    gain: float = 0.0
    gains: dict[str, float] = field(default_factory=dict)
    likely_gain: float = 0.0
    disruption: float = 1.0
    landing: Landing | None = None
    reasons: tuple[MoveReason, ...] = ()
    budget: BudgetUse | None = None
    group: str = ""
    room: str = ""
    choice: Choice | None = None
    after: tuple[int, ...] = ()

    @property
    def shift(self) -> Shift:
        """The move as the working copy makes it."""
        return Shift(self.pod, self.source, self.destination)


def places(moves: Sequence[Evaluation]) -> list[list[int]]:
    """For each move the places, among these, of the moves that make room for it."""
    place = {move.pod: number for number, move in enumerate(moves)}
    return [[place[pod] for pod in move.after] for move in moves]


@dataclass(frozen=True, slots=True)
class JointEvaluation:
    """What moving these pods one after the other would do: all are moved or none is.

    pods: indices, in the order of their evictions. moves: each evaluated where those before it
    have been made; empty where one cannot be made. refusal: why they are not made, or None.
    """

    pods: tuple[int, ...]
    moves: tuple[Evaluation, ...] = ()
    refusal: Problem | None = None

    @property
    def gain(self) -> float:
        """The expected decrease of the weighted cost, of all of them together."""
        return sum(move.gain for move in self.moves)

    @property
    def likely_gain(self) -> float:
        """The decrease of the weighted cost where all of them most likely land."""
        return sum(move.likely_gain for move in self.moves)

    @property
    def disruption(self) -> float:
        """What all of them disrupt, in pods."""
        return sum(move.disruption for move in self.moves)

    @property
    def gains(self) -> dict[str, float]:
        """Policy name to its unweighted gain by all of them."""
        answer: dict[str, float] = {}
        for move in self.moves:
            for name, gain in move.gains.items():
                answer[name] = answer.get(name, 0.0) + gain
        return answer

    @property
    def chain(self) -> bool:
        """Whether some of them make room for others."""
        return any(move.after for move in self.moves)

    @property
    def value(self) -> float:
        """Gain per disruption: what the search goes by."""
        return self.gain / self.disruption


@dataclass(frozen=True, slots=True)
class GainThreshold:
    """The gate for acting: a margin, and a share of gain that answers for the share of disruption.

    removable: weighted cost that the candidates could remove at best, together.
    disruption: what all of them would cost to move.

    A move passes when (gain / removable) / (its disruption / disruption) reaches `share`: when it
    gains at least that part of what the average candidate could gain at best, per disruption. It
    is the ratio by which Karpenter's balanced consolidation decides.

    Of a chain the average disruption of its moves counts: who makes room is no candidate, and a pod
    that is stuck cannot be moved for its own disruption alone. With the sum, two like moves of
    which one gains would stand at a share of one half, and a second of start would decide.
    """

    margin: float
    share: float
    removable: float
    disruption: float

    def refusal(
        self,
        gain: float,
        disruption: float,
        *,
        moves: int = 1,
        chain: bool = False,
        landed: bool = True,
    ) -> Problem | None:
        """FEA003, MRG001 or MRG002, or None. landed False: the gain is that on the best node.

        moves: how many gain it together; each must be worth the margin. disruption: of all of them.
        chain: whether some of them only make room for others.
        """
        best = "" if landed else " even on the best node"
        whose = f"its gain{best}" if moves == 1 else f"the gain{best} of {moves} moves together"
        if gain <= NOTHING:
            where = "where it would land" if landed else "on any node"
            return Problem(
                code="FEA003", message=f"it would be no better placed {where}: gain {gain:+.2f}"
            )
        margin = self.margin * moves
        if gain <= margin:
            return Problem(
                code="MRG001",
                message=f"{whose} is {gain:.3g}, and the margin {margin:g}",
            )
        if self.removable <= 0 or self.disruption <= 0:
            return None
        part = disruption / (moves if chain else 1) / self.disruption
        ratio = gain / self.removable / part
        if ratio < self.share:
            mean = ", on average of the moves" if chain else ""
            return Problem(
                code="MRG002",
                message=f"{whose} of {gain:.3g} is {gain / self.removable:.1%} of the cost "
                f"that can be removed, for {part:.1%} of the disruption{mean}: "
                f"a ratio of {ratio:.2f}, below gainShare {self.share:g}",
            )
        return None

    def least_gain(self, disruption: float) -> float:
        """What so much disruption must gain to pass, beside the margin."""
        if self.removable <= 0 or self.disruption <= 0:
            return 0.0
        return self.share * self.removable * disruption / self.disruption

    def pass_mask(self, gains: FloatArray, disruptions: FloatArray) -> BoolArray:
        """(k,) whether `refusal` lets each of these single moves pass."""
        passed: BoolArray = (gains > NOTHING) & (gains > self.margin)
        if self.removable > 0 and self.disruption > 0:
            passed &= gains / self.removable / (disruptions / self.disruption) >= self.share
        return passed

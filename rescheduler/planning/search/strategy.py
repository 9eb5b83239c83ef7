"""Strategies of the search: which placement changes are tried, alone or several together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from rescheduler.planning.search.evaluator import Evaluator


@dataclass(frozen=True, slots=True)
class Candidate:
    """Pods that would be moved one after the other, all or none.

    pods: indices, in the order of their evictions. bound: at most how much they could lower the
    weighted cost together, wherever each of them went.

    Raises:
        ValueError: there is no pod, or one comes twice.
    """

    pods: tuple[int, ...]
    bound: float

    def __post_init__(self) -> None:
        if len(self.pods) != 1 and (not self.pods or len(set(self.pods)) < len(self.pods)):
            raise ValueError(f"a candidate needs different pods, and these are {self.pods}")


class Strategy(Protocol):
    """What the search asks for candidates, in each state of the working copy from which it goes on.

    It proposes; whether the pods may be moved, where they land, what that gains and which budgets
    it spends is for the evaluator to decide. The bounds must not be too low: the search does not go
    at a candidate again whose bound is below what another one gains.
    """

    def candidates(self, evaluator: Evaluator) -> Iterable[Candidate]:
        """All that is worth evaluating in the working copy as it is now; no pod moved already."""
        ...


class SingleMoves:
    """Each candidate of the policies alone."""

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """The pods that may be moved, with what each could gain at best."""
        for pod, bound in evaluator.bounds().best.items():
            yield Candidate((pod,), bound)

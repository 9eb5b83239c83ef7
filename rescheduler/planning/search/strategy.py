"""Strategies of the search: which placement changes are tried, alone or several together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from rescheduler.model.cluster.gangs import Gang
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy


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


@dataclass(frozen=True, slots=True)
class Proposal:
    """Moves that may gain more together than what is found one by one, or that a plan had before.

    nodes: pod to the node that it is to be sent to. together: which pods, of these alone, were
    moved together before, as swaps and chains. planned: moves of a plan, in its order.
    """

    nodes: Mapping[int, int]
    together: tuple[tuple[int, ...], ...] = ()
    planned: tuple[tuple[int, ...], ...] = ()

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """What of it has not moved yet: each pod alone, and those that move together."""
        yield from _candidates([(pod,) for pod in self.nodes], evaluator)
        yield from _candidates(self.together, evaluator)

    def in_order(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """What was planned, each with the bound that it has once those before it have moved."""
        for pods in self.planned:
            yield from _candidates([pods], evaluator)


def _candidates(proposed: Iterable[tuple[int, ...]], evaluator: Evaluator) -> Iterator[Candidate]:
    """Candidates without a moved pod, if the last pod could gain; the others make room for it."""
    best, moved = evaluator.bounds().best, evaluator.copy.moved
    for pods in proposed:
        if pods[-1] in best and moved.isdisjoint(pods):
            bound = sum(max(0.0, best.get(pod, 0.0)) for pod in pods)
            yield Candidate(pods, bound if len(pods) > 1 else best[pods[-1]])


class GangMoves:
    """Each gang with a pod that a policy would move: all its pods, in the order of their names.

    At most it gains what all findings cost that name a pod of it.
    """

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """The gangs without a moved pod."""
        copy = evaluator.copy
        if copy.limits.gangs != "Whole":
            return
        gangs, pods, cost = copy.snapshot.gangs, copy.snapshot.pods, _costs(copy)
        for gang in dict.fromkeys(gangs.gang_of(pod) for pod in copy.candidates()):
            if gang is None:
                continue
            members = gangs.facts(gang).members.tolist()
            if len(members) > 1 and copy.moved.isdisjoint(members):
                order = sorted(members, key=lambda pod: pods[pod].key)
                yield Candidate(tuple(order), cost.get(gang, 0.0))


def _costs(copy: WorkingCopy) -> dict[Gang, float]:
    """The weighted cost of the findings that name a pod of each gang; a finding counts for each."""
    cost: dict[Gang, float] = {}
    for binding in copy.active:
        for finding in binding.findings:
            weighted = binding.policy.weight * finding.cost
            for gang in {copy.snapshot.gangs.gang_of(pod) for pod in finding.pods}:
                if gang is not None:
                    cost[gang] = cost.get(gang, 0.0) + weighted
    return cost


class AllMoves:
    """What is tried beside each candidate of the policies alone: whole gangs."""

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        """The gangs that may be moved as a whole."""
        yield from GangMoves().candidates(evaluator)

"""Affinity: what pods say themselves, in their podAffinity, about whom they want to be near.

kube-scheduler looks at it when it places a pod and never again: partners that came later, or moved
away, leave it unmet. A pod none of whose terms is met costs 1.0; a required term counts as much as
a preferred one of the highest weight, 100. A term for which no partner exists anywhere is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.finding import Finding
from rescheduler.model.move import Shift
from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.model.wording import agreed, counted
from rescheduler.policies.domains import NOWHERE

REQUIRED = 100
"""The weight of a required term: that of the strongest preference the API allows."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One affinity term: pods that hold it, and the pods that would meet it.

    holders, weights: (k,) the pods and what each counts, 0 to 1. targets: the partners; a holder
    among them does not meet its own wish. of: (nodes + 1,) the domain of each node by the term's
    topologyKey, NOWHERE without the label. term: the namespace and the term itself, in full.
    """

    holders: IntArray
    weights: FloatArray
    targets: IntArray
    of: IntArray
    key: str
    subject: str
    term: str = ""


@dataclass(slots=True)
class _Tally:
    """What one domain holds: partners, and the weights of holders that are (not) partners too."""

    targets: int = 0
    both: float = 0.0
    holders: float = 0.0

    def cost(self) -> float:
        """The wishes of the domain that are not met."""
        if self.targets == 0:
            return self.holders
        return self.both if self.targets == 1 else 0.0


class Affinities:
    """All affinity terms of the pods that a policy looks at."""

    def __init__(self, wishes: Sequence[Wish], node: IntArray) -> None:
        self._wishes = tuple(wishes)
        self._tallies: list[dict[int, _Tally]] = []
        self._roles: dict[int, list[tuple[int, float, bool]]] = {}
        self._node: dict[int, int] = {}
        for number, wish in enumerate(wishes):
            self._tallies.append({})
            weights = dict(zip(wish.holders.tolist(), wish.weights.tolist(), strict=True))
            targets = set(wish.targets.tolist())
            for pod in sorted({*weights, *targets}):
                self._node[pod] = int(node[pod])
                self._roles.setdefault(pod, []).append(
                    (number, weights.get(pod, 0.0), pod in targets)
                )
                self._add(number, int(wish.of[node[pod]]), (weights.get(pod, 0.0), pod in targets))

    def _add(self, number: int, place: int, role: tuple[float, bool], sign: int = 1) -> None:
        weight, target = role
        tally = self._tallies[number].setdefault(place, _Tally())
        tally.targets += sign * target
        if target:
            tally.both += sign * weight
        else:
            tally.holders += sign * weight

    def cost(self) -> float:
        """The weights of the wishes that are not met."""
        return float(sum(self._cost(number) for number in range(len(self._wishes))))

    def worst(self) -> float:
        """No wish is met."""
        return float(sum(wish.weights.sum() for wish in self._wishes))

    def members(self) -> IntArray:
        """Every pod that holds a wish or would meet one."""
        return np.array(sorted(self._roles), dtype=np.int32)

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost for each node."""
        total = np.zeros(len(nodes))
        for number, weight, target in self._roles[pod]:
            of = self._wishes[number].of
            here, places = int(of[source]), of[nodes]
            left = self._change(number, here, (weight, target), -1)
            fresh = self._change(number, NOWHERE - 1, (weight, target), 1)
            table = np.full(int(of.max(initial=0)) + 2, fresh)  # the last is NOWHERE
            for place in self._tallies[number]:
                table[place] = self._change(number, place, (weight, target), 1)
            table[NOWHERE] = weight
            total += np.where(places == here, 0.0, table[places] + left)
        return total

    def bound(self, pod: int, source: int) -> float:
        """Its own wishes come true, and nobody misses it; partners that it would meet are glad."""
        total = 0.0
        for number, weight, target in self._roles[pod]:
            here = int(self._wishes[number].of[source])
            left = self._change(number, here, (weight, target), -1)
            best = min(
                (
                    self._change(number, place, (weight, target), 1)
                    for place in self._tallies[number]
                    if place not in (here, NOWHERE)
                ),
                default=0.0,
            )
            total += max(0.0, -left - min(best, weight))
        return total

    def commit(self, shift: Shift) -> IntArray:
        """Make the move in the working copy; all that share a wish with the pod are touched."""
        self._node[shift.pod] = shift.destination
        touched: list[IntArray] = []
        for number, weight, target in self._roles[shift.pod]:
            wish = self._wishes[number]
            self._add(number, int(wish.of[shift.source]), (weight, target), -1)
            self._add(number, int(wish.of[shift.destination]), (weight, target))
            touched += [wish.holders, wish.targets]
        return np.concatenate(touched)

    def findings(self) -> Iterator[Finding]:
        """One finding for each wish that is not met everywhere."""
        for number, wish in enumerate(self._wishes):
            cost = self._cost(number)
            if cost <= 1e-12:
                continue
            alone = [pod for pod in wish.holders.tolist() if not self._met(number, pod)]
            yield Finding(
                code="LOC004",
                subject=wish.subject,
                cost=cost,
                message=f"{len(alone)} of {counted(len(wish.holders), 'pod')} "
                f"{agreed(len(alone), 'has', 'have')} none of the "
                f"{counted(len(wish.targets), 'pod')} of their podAffinity in their {wish.key}",
                pods=tuple(np.union1d(alone, wish.targets).astype(int).tolist()),
                aspect=wish.term,
            )

    def _met(self, number: int, pod: int) -> bool:
        place = int(self._wishes[number].of[self._node[pod]])
        own = next(target for wish, _, target in self._roles[pod] if wish == number)
        return place != NOWHERE and self._tallies[number][place].targets > own

    def _cost(self, number: int) -> float:
        tallies = self._tallies[number]
        total = sum(tally.cost() for place, tally in tallies.items() if place != NOWHERE)
        outside = tallies.get(NOWHERE)
        if outside is not None:  # who is in no domain is near to nobody, partner or not
            total += outside.both + outside.holders
        return max(0.0, total)

    def _change(self, number: int, place: int, role: tuple[float, bool], sign: int) -> float:
        """How the cost of one domain changes when such a pod comes (1) or goes (-1)."""
        weight, target = role
        if place == NOWHERE:
            return sign * weight
        tally = self._tallies[number].get(place, _Tally())
        after = _Tally(
            tally.targets + sign * target,
            tally.both + sign * weight * target,
            tally.holders + sign * weight * (not target),
        )
        return after.cost() - tally.cost()

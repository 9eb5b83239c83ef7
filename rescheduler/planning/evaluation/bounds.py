"""Bounds on single moves: what each candidate could gain at best, before any landing is known."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.evaluation import NOTHING, GainThreshold
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.disruption import Disruptions


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the candidates of a working copy are worth at best.

    best: pod to at most how much moving it could lower the weighted cost, wherever it went; no
    landing can gain more. refusals: the candidates that are left alone whatever their gain.
    gate: what a gain is measured against, of one move or of several.
    """

    best: dict[int, float]
    refusals: dict[int, Problem]
    gate: GainThreshold

    def worth_making(self, disruptions: Disruptions) -> list[int]:
        """The pods whose moves may pass the gate."""
        gaining = [pod for pod, bound in self.best.items() if bound > NOTHING]
        gains = np.array([self.best[pod] for pod in gaining])
        passing = self.gate.pass_mask(gains, np.array([disruptions[pod] for pod in gaining]))
        return [pod for pod, passes in zip(gaining, passing.tolist(), strict=True) if passes]


def bounds(
    copy: WorkingCopy,
    candidates: list[int],
    refusals: dict[int, Problem],
    together: AbstractSet[int] = frozenset(),
    *,
    steered: bool = True,
) -> Bounds:
    """The bounds of the candidates that are not refused already.

    together: those that are refused alone and may move with their gangs. A gain is measured against
    theirs too. steered: whether anything is; else policies with `onlyIfSteered` gain nothing.
    """
    counted = [pod for pod in candidates if pod not in refusals or pod in together]
    gain_bounds = greatest(copy, np.array(counted, dtype=np.int32), steered=steered).tolist()
    worth = {pod: bound for pod, bound in zip(counted, gain_bounds, strict=True) if bound > 0}
    best = {
        pod: bound for pod, bound in zip(counted, gain_bounds, strict=True) if pod not in refusals
    }
    copy.disruptions.learn(np.array(list(worth), dtype=np.int32))
    gate = GainThreshold(
        margin=copy.limits.margin,
        share=copy.limits.gainShare,
        removable=min(sum(worth.values()), copy.cost()),
        disruption=sum(copy.disruptions[pod] for pod in worth),
    )
    return Bounds(best, refusals, gate)


def greatest(copy: WorkingCopy, pods: IntArray, *, steered: bool) -> FloatArray:
    """(k,) at most how much moving each pod to another node could lower the weighted cost.

    A replacement that may come back gains no more than that, or nothing.
    """
    stable = np.flatnonzero(~copy.eligibility.places.avoided).astype(np.int32)
    total = np.zeros(len(pods))
    for binding in copy.active:
        if binding.policy.onlyIfSteered and not steered:
            continue
        bounding, weight = binding.bounding, binding.policy.weight
        if bounding is not None and binding.term is not None:
            # A term never costs less than nothing, so no move gains more than it costs now.
            total += weight * np.minimum(bounding.bounds(pods), binding.term.cost())
        elif binding.term is not None and len(stable):
            term = binding.term
            total += weight * np.array(
                [-float(np.min(term.deltas(pod, stable))) for pod in pods.tolist()]
            )
    return total

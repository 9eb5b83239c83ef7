"""A survey of the candidates: what each could gain at best, before any landing is worked out."""

from dataclasses import dataclass

from rescheduler.model.problem import Problem
from rescheduler.planning.search.evaluation import Gate


@dataclass(frozen=True, slots=True)
class Survey:
    """What the candidates of a working copy are worth at best.

    bounds: pod to at most how much moving it could lower the weighted cost, wherever it went; no
    landing can gain more. disruptions: pod to its disruption cost. refusals: the candidates
    that are left alone whatever their gain. gate: what a gain is measured against.
    """

    bounds: dict[int, float]
    disruptions: dict[int, float]
    refusals: dict[int, Problem]
    gate: Gate

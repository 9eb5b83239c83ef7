"""Each plugin's result on each node for one pod: the reasons behind its landing."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.moves.move import Landing
from rescheduler.scheduler.plugin import ScoreArray
from rescheduler.scheduler.shape import Shape

State = Literal["overlap", "gone"]
"""Whether the old pod still holds its place when its replacement is scheduled."""


@dataclass(frozen=True, slots=True, eq=False)
class FilterVerdict:
    """The result of one filter.

    name: of the plugin.
    rejects: (nodes,) the nodes that it rejects by itself.
    first: (nodes,) those of them that no filter before it rejects.
    """

    name: str
    rejects: BoolArray
    first: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class ScoreVerdict:
    """What one plugin adds to the score.

    points: (nodes,) from 0 to 100 times `weight`; 0 where the node is not feasible.
    """

    name: str
    weight: int
    points: ScoreArray


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """All of the scheduler's results for one pod.

    state: whether the old pod still holds its place; "gone" for a pod that is not bound.
    filters: in the order in which they run; a plugin that rejects nothing for this pod is absent.
    feasible: (nodes,) the nodes that pass all filters.
    scores: of the plugins that score this pod, normalized over all feasible nodes. Above 100 nodes
        the scheduler normalizes over the nodes that it happens to sample; the landing does too.
    total: (nodes,) the sum of the scores' points.
    landing: where that leads. If it is refused before any filter runs, the rest is empty.
    """

    state: State
    filters: tuple[FilterVerdict, ...]
    feasible: BoolArray
    scores: tuple[ScoreVerdict, ...]
    total: ScoreArray
    landing: Landing


def filter_verdicts(shape: Shape, count: int) -> tuple[FilterVerdict, ...]:
    """Ask every filter of the shape about all nodes.

    count: how many nodes there are.
    """
    passing = np.ones(count, dtype=np.bool_)
    answer: dict[str, FilterVerdict] = {}
    for name, passes in shape.filter_results(count):
        verdict = FilterVerdict(name, ~passes, passing & ~passes)
        before = answer.get(name)
        if before is not None:
            rejects, first = verdict.rejects | before.rejects, verdict.first | before.first
            verdict = FilterVerdict(name, rejects, first)
        answer[name] = verdict
        passing = passing & passes
    return tuple(answer.values())


def score_verdicts(shape: Shape, nodes: IntArray, count: int) -> tuple[ScoreVerdict, ...]:
    """Ask every score of the shape about the feasible nodes.

    nodes: the feasible ones, none or more. count: how many nodes there are.
    """
    if not len(nodes):
        return ()
    answer = []
    for name, weight, score in shape.scores:
        points = np.zeros(count, dtype=np.int64)
        scored = score(nodes)
        points[nodes] = weight * (scored if isinstance(scored, np.ndarray) else scored.points())
        answer.append(ScoreVerdict(name, weight, points))
    return tuple(answer)

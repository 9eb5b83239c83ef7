"""Where the moves of a plan will land, when the landings of those before are only likely."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.scheduler.model import SchedulerModel

_MOST_COURSES = 32
_LEAST_COURSES = 4
_MOST_LANDINGS = 1024


def forecast(
    scheduler: SchedulerModel, moves: Sequence[Evaluation], *, names: Sequence[str], seed: int
) -> list[Evaluation]:
    """The moves, each with its landing as the mean over courses that the plan may take.

    The search puts each replacement on its most likely node. It may land on another, and then a
    later move finds other nodes free. So the plan is played several times, each replacement drawn
    from its landing in that course; the draws of one move are stratified over the courses, so that
    even a few show every likely node. Where all landings are certain, there is one course.

    scheduler: its working copy has made all the moves, and has again in the end.
    names: of the nodes, so that the draws do not hang on the order in which nodes are listed.
    """
    if not moves:
        return []
    for move in moves:
        scheduler.commit(move.shift.shift_back())
    means = [_Mean() for _ in moves]
    courses = _courses(moves)
    places = _places(courses, len(moves), seed)
    # Courses that begin alike, as all do, find the same landings until they part.
    landings: dict[int, Landing] = {}
    beginnings: dict[tuple[int, int], int] = {}
    for course in range(courses):
        made: list[Shift] = []
        beginning = 0
        for move, mean, place in zip(moves, means, places[course], strict=True):
            landing = landings.get(beginning)
            if landing is None:
                landing = scheduler.landing(move.pod, move.choice.steer if move.choice else None)
                landings[beginning] = landing
            mean.add(landing)
            node = _draw_node(landing, float(place), names)
            beginning = beginnings.setdefault((beginning, node), len(beginnings) + 1)
            if node >= 0:
                made.append(Shift(move.pod, move.source, node))
                scheduler.commit(made[-1])
        for shift in reversed(made):
            scheduler.commit(shift.shift_back())
    for move in moves:
        scheduler.commit(move.shift)
    return [
        replace(move, landing=mean.landing(move, courses))
        for move, mean in zip(moves, means, strict=True)
    ]


def _courses(moves: Sequence[Evaluation]) -> int:
    sure = all(move.landing is not None and len(move.landing.nodes) == 1 for move in moves)
    if sure or len(moves) < 2:
        return 1
    return max(_LEAST_COURSES, min(_MOST_COURSES, _MOST_LANDINGS // len(moves)))


def _places(courses: int, moves: int, seed: int) -> FloatArray:
    """(courses, moves) where each draw falls in 0 to 1: once in each of `courses` equal strata."""
    generator = np.random.default_rng(seed)
    strata = np.tile(np.arange(courses, dtype=np.float64)[:, None], (1, moves))
    places: FloatArray = (generator.permuted(strata, axis=0) + 0.5) / courses
    return places


def _draw_node(landing: Landing, place: float, names: Sequence[str]) -> int:
    """The node at that place of the landing; -1 where the replacement stays Pending."""
    shares = zip(landing.nodes.tolist(), landing.probabilities.tolist(), strict=True)
    passed = 0.0
    for node, share in sorted(shares, key=lambda node_share: names[node_share[0]]):
        passed += share
        if place < passed:
            return int(node)
    return -1


@dataclass(slots=True)
class _Mean:
    """The mean of landings; one that cannot be predicted counts as unschedulable."""

    shares: dict[int, float] = field(default_factory=dict)
    unschedulable: float = 0.0

    def add(self, landing: Landing) -> None:
        for node, share in zip(landing.nodes.tolist(), landing.probabilities.tolist(), strict=True):
            self.shares[node] = self.shares.get(node, 0.0) + share
        self.unschedulable += 1.0 if landing.refusal is not None else landing.unschedulable

    def landing(self, move: Evaluation, courses: int) -> Landing:
        order = sorted(self.shares, key=lambda node: (-self.shares[node], node))
        probabilities = np.array([self.shares[node] / courses for node in order])
        return Landing(
            nodes=np.array(order, dtype=np.int32),
            probabilities=probabilities,
            returns=self.shares.get(move.source, 0.0) / courses,
            unschedulable=self.unschedulable / courses,
            rejections=move.landing.rejections if move.landing is not None else {},
        )

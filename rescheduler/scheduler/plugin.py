"""What a plugin of the scheduler is to this model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rescheduler.kube.objects import Labels, OwnerReference, PodSpec
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.scheduler.normalizing import MAX_SCORE, Relative
from rescheduler.scheduler.requests import Requests

__all__ = ["MAX_SCORE", "Filter", "Plugin", "Replacement", "Score", "ScoreArray"]

ScoreArray = npt.NDArray[np.int64]
Filter = Callable[[], BoolArray]
"""Says for every node whether it passes, in the state at the time of the call."""
Score = Callable[[IntArray], ScoreArray | Relative]
"""Scores these nodes from 0 to 100, in the state at the time of the call."""


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """The pod that the scheduler will see after an eviction. One per shape: pods share it.

    labels: without what binding stamped on the old pod.
    owner: the controller, whose selector takes part in default spreading.
    """

    namespace: str
    labels: Labels
    spec: PodSpec
    owner: OwnerReference | None
    requests: Requests


class Plugin:
    """One plugin of kube-scheduler; it prepares its part of a shape once, for many calls."""

    name: ClassVar[str]

    def filter(self, pod: Replacement) -> Filter | None:  # noqa: ARG002
        """The filter for this shape, or None where the plugin rejects nothing."""
        return None

    def score(self, pod: Replacement) -> Score | None:  # noqa: ARG002
        """The score for this shape, or None where the plugin says nothing."""
        return None

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:  # noqa: ARG002
        """The scheduler's words about nodes that this plugin rejects, to (nodes,) where they hold.

        In the state at the time of the call; only for plugins that give more than one reason.
        """
        return {}

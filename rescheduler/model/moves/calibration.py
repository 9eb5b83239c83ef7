"""Calibration: predicted landings held against the real ones, in counters of bounded size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

FADE = 1.0 - 1.0 / 200.0
"""What an earlier comparison still weighs after a later one, so that about the last 200 count."""

_NOTHING = 1e-9
_ROUNDING = 1e-6
_VERSION = re.compile(r"v?(\d+\.\d+)")


def scheduler_version(version: str) -> str:
    """Major and minor version, such as `1.36`, of the API server; else `unknown`."""
    found = _VERSION.match(version)
    return found[1] if found else "unknown"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One predicted landing beside the real one.

    within: it is one of the predicted. likeliest: it is one of those predicted as most likely.
    brier: the sum over nodes (and staying Pending) of (probability - what was)^2, from 0 to 2.
    expected: what that is on average where the probabilities are right.
    """

    within: bool
    likeliest: bool
    brier: float
    expected: float


def compare(landing: Mapping[str, float], unschedulable: float, landed: str) -> Comparison:
    """Compare where a replacement landed ("" for Pending) with the prediction.

    landing: the probability of each node, perhaps only of the likeliest. What the probabilities
    lack to 1 lies on nodes that are not named; landing on one of those contradicts nothing.
    """
    chances = {**landing, "": unschedulable}
    chance = chances.get(landed, 0.0)
    unnamed = 1.0 - sum(chances.values())
    squares = sum(each * each for each in chances.values())
    return Comparison(
        within=chance > _NOTHING or (unnamed > _ROUNDING and landed not in chances),
        likeliest=chance > _NOTHING and chance >= max(chances.values()) - _NOTHING,
        brier=max(squares - 2.0 * chance + 1.0, 0.0),
        expected=max(1.0 - squares, 0.0),
    )


class LandingRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How landings of one kind of owner compared under one version of the scheduler.

    The sums weigh each comparison by `FADE` to the number of later ones; `weight` is the sum of
    these weights, `compared` their plain number. at: when the last one was made.
    """

    kind: str
    version: str
    compared: int = 0
    weight: float = 0.0
    within: float = 0.0
    likeliest: float = 0.0
    brier: float = 0.0
    expected: float = 0.0
    at: datetime | None = None

    def add(self, comparison: Comparison, at: datetime) -> None:
        """Count one more comparison."""
        self.compared += 1
        self.weight = self.weight * FADE + 1.0
        self.within = self.within * FADE + comparison.within
        self.likeliest = self.likeliest * FADE + comparison.likeliest
        self.brier = self.brier * FADE + comparison.brier
        self.expected = self.expected * FADE + comparison.expected
        self.at = at


def likeliest(landing: Mapping[str, float], most: int) -> dict[str, float]:
    """The likeliest nodes of a landing, no more than `most`."""
    return dict(sorted(landing.items(), key=lambda share: (-share[1], share[0]))[:most])

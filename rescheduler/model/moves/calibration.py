"""Calibration: predicted landings held against the real ones, in counters of bounded size."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

FADE = 1.0 - 1.0 / 200.0
"""What an earlier comparison still weighs after a later one, so that about the last 200 count."""

REMEMBERED = timedelta(days=14)
"""So long a workload's landings say something of those to come; they count less with age."""
MOST_WORKLOADS, MOST_OF_WORKLOAD = 100, 10
"""Workloads that a record remembers, and landings of each that count."""

_NOTHING = 1e-9
_ROUNDING = 1e-6
_VERSION = re.compile(r"v?(\d+\.\d+)")


def scheduler_version(version: str) -> str:
    """Major and minor version, such as `1.36`, of the API server; else `unknown`."""
    match = _VERSION.match(version)
    return match[1] if match else "unknown"


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
    squares = sum(probability * probability for probability in chances.values())
    return Comparison(
        within=chance > _NOTHING or (unnamed > _ROUNDING and landed not in chances),
        likeliest=chance > _NOTHING and chance >= max(chances.values()) - _NOTHING,
        brier=max(squares - 2.0 * chance + 1.0, 0.0),
        expected=max(1.0 - squares, 0.0),
    )


class WorkloadLandings(msgspec.Struct, array_like=True):
    """How the landings of one workload compared. within: the share that came as predicted.

    at: when the last one was compared.
    """

    namespace: str
    at: datetime
    within: float
    compared: int = 1

    def weight(self, now: datetime) -> float:
        """What it counts now: 1 when it was compared, and less until it is forgotten."""
        return max(0.0, 1.0 - (now - self.at) / REMEMBERED)


class LandingRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How landings of one kind of owner compared under one version of the scheduler.

    The sums weigh each comparison by `FADE` to the number of later ones; `weight` is the sum of
    these weights, `compared` their plain number. at: when the last one was made. workloads: the
    latest of each workload, by a mark of its UID, so that one that moves often counts no more.
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
    workloads: dict[str, WorkloadLandings] = {}

    def add(
        self, comparison: Comparison, at: datetime, namespace: str = "", workload: str = ""
    ) -> None:
        """Count one more comparison, of a workload by a mark of its UID."""
        self._add_of_workload(workload, namespace, comparison.within, at)
        self.compared += 1
        self.weight = self.weight * FADE + 1.0
        self.within = self.within * FADE + comparison.within
        self.likeliest = self.likeliest * FADE + comparison.likeliest
        self.brier = self.brier * FADE + comparison.brier
        self.expected = self.expected * FADE + comparison.expected
        self.at = at

    def _add_of_workload(self, workload: str, namespace: str, within: bool, at: datetime) -> None:
        """Count it once for its workload; a namespace that has most of them loses its oldest."""
        at = at.replace(microsecond=0)
        landings = self.workloads.pop(workload, None)
        if landings is None:
            self.workloads[workload] = WorkloadLandings(namespace, at, float(within))
        else:
            count = min(landings.compared + 1, MOST_OF_WORKLOAD)
            share = landings.within + (within - landings.within) / count
            self.workloads[workload] = WorkloadLandings(namespace, at, round(share, 3), count)
        if len(self.workloads) > MOST_WORKLOADS:
            most = Counter(
                workload_landings.namespace for workload_landings in self.workloads.values()
            ).most_common(1)[0][0]
            own = [
                mark
                for mark, workload_landings in self.workloads.items()
                if workload_landings.namespace == most
            ]
            del self.workloads[own[0]]


def likeliest(landing: Mapping[str, float], most: int) -> dict[str, float]:
    """The likeliest nodes of a landing, no more than `most`."""
    return dict(sorted(landing.items(), key=lambda share: (-share[1], share[0]))[:most])

"""IdleGPUs: report who holds GPUs and hardly uses them."""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from rescheduler.documents.fields import PositiveDuration, Ratio
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import duration_text
from rescheduler.policies.base import Policy
from rescheduler.policies.idlegpus.holdings import held_gpus
from rescheduler.policies.idlegpus.term import IdleGPUsTerm
from rescheduler.policies.match import Match
from rescheduler.policies.shared.coverage import too_few
from rescheduler.policies.shared.matching import select_pods

_PART = 1 / 15
"""What a window is of all of the time: two of the steps between up to 30 of them."""
_SHORTEST = 300.0
"""Seconds; in less, exporters that are scraped once a minute have too few samples."""
_ROUNDING = 1e-6


class IdleGPUs(Policy):
    """Charge 1.0 for each pod that has GPUs to itself and hardly uses them; move none for it.

    A GPU that one pod has is lost to all others, however little the pod does with it. Where it runs
    does not change that, so no pod is moved: the report names its owner and the GPU-hours that were
    not used. Pods that ran for all of `stableFor` are evaluated. That time is divided into up to 30
    overlapping parts, each of a fifteenth of it or 5 minutes, whichever is longer, and a pod hardly
    uses its GPUs if it used less than `below` in every part, so that work in bursts is work; a pod
    without a value in one of them is not evaluated. What shares a GPU keeps nobody from it, and is
    not evaluated. A partition (MIG) counts as the slices in its profile, such as 1g.10gb, of those
    of its GPU, 7 or on an A30 4: its use, and its GPU-hours.
    """

    summary: ClassVar[str] = "Report pods that hold GPUs and hardly use them, with the GPU-hours."
    moves_pods: ClassVar[bool] = False
    codes: ClassVar[tuple[str, ...]] = ("IDL", "RDG003")

    kind: Literal["IdleGPUs"] = "IdleGPUs"
    mode: Literal["Audit"] = Field("Audit", description="It is only shown: no pod is moved for it.")
    match: Match = Field(description="The pods to evaluate.")
    below: Ratio = Field(
        0.05,
        description="A pod that used less of its GPUs than this at all times of `stableFor` hardly "
        "uses them.",
    )
    stableFor: PositiveDuration = Field(
        timedelta(hours=6),
        description="For how long the use must have been that low, and a pod must have run.",
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=3), description="An older value counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9,
        description="The share of pods with GPUs that must have a value at all times of "
        "`stableFor`; with less, the policy is not evaluated.",
    )

    def requests(self) -> list[ReadingRequest]:
        """What the pods use of their GPUs, in windows that together cover all of that time.

        Each is at least twice as long as the step between two of them, since sources may move the
        instants of the past back by up to a step.
        """
        window = min(max(math.ceil(self.span * _PART), _SHORTEST), self.span)
        return [
            ReadingRequest(
                "pod.gpu",
                window=window,
                max_age=self.maxAge.total_seconds(),
                min_coverage=self.minCoverage,
                span=self.span - window,
            )
        ]

    def unreachable(self) -> Iterator[str]:
        """No pod can use less than nothing."""
        if self.below == 0:
            yield "below: no use is below 0%, so no pod is ever reported"

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """Pods that have GPUs to themselves, or have had them for long enough."""
        chosen = select_pods(self.match, snapshot)
        holding = chosen & (held_gpus(snapshot) > 0)
        if chosen.any() and not holding.any():
            yield "match: no pod that it selects has a GPU to itself"
        elif holding.any() and not (snapshot.pod_age[holding] >= self.span).any():
            oldest = duration_text(float(snapshot.pod_age[holding].max()))
            yield (
                f"stableFor: no pod with GPUs has run for {duration_text(self.span)} yet; the "
                "oldest for "
                f"{oldest}"
            )

    def compile(self, snapshot: Snapshot) -> IdleGPUsTerm | Problem:
        """The term, or why the reading is not fit to tell anybody."""
        (request,) = self.requests()
        reading = snapshot.readings.find(request)
        if reading is None:
            return snapshot.readings.missing_problem(request)
        if reading.problem is not None and not reading.low_coverage:
            return Problem(reading.problem.code, f"{request.name}: {reading.problem.message}")
        past = reading.range_samples if request.span else reading.values[np.newaxis]
        if past is None:
            why = "; ".join(reading.notes[-1:]) or "its past is not known"
            return Problem("RDG003", f"{request.name}: {why}")
        count = len(snapshot.pods)
        if not past.shape[1] == len(reading.values) == len(reading.ages) == count:
            text = f"{len(reading.values)} values for {count} pods"
            return Problem("RDG006", f"{request.name} has {text}")
        held = held_gpus(snapshot)
        whole = select_pods(self.match, snapshot) & (held > 0) & (snapshot.pod_age >= self.span)
        whole &= reading.expected
        subjects = np.flatnonzero(whole)
        used = past[:, subjects] / held[subjects]
        has_value = ((used >= 0) & (used <= 1 + _ROUNDING)).all(axis=0)
        has_value &= reading.ages[subjects] <= request.max_age
        present = np.zeros(count, dtype=np.bool_)
        present[subjects[has_value]] = True
        having = f"a value at all times of the last {duration_text(self.span)}"
        few = too_few(snapshot, reading, present, whole, having)
        if few is not None:
            return few
        mean, most = np.full((2, count), np.nan)
        mean[subjects[has_value]] = used[:, has_value].mean(axis=0)
        most[subjects[has_value]] = used[:, has_value].max(axis=0)
        return IdleGPUsTerm(snapshot, held, mean, most < self.below, ~np.isnan(most), self.span)

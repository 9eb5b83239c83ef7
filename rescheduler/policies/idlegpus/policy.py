"""IdleGPUs: tell who holds GPUs and hardly uses them."""

from datetime import timedelta
from typing import ClassVar, Literal

from pydantic import Field

from rescheduler.documents.fields import PositiveDuration, Ratio
from rescheduler.model.problem import Problem
from rescheduler.model.readings import ReadingRequest
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import Match, Policy
from rescheduler.policies.idlegpus.holdings import held_gpus
from rescheduler.policies.idlegpus.term import IdleGPUsTerm
from rescheduler.policies.shared.matching import select_pods


class IdleGPUs(Policy):
    """Charge 1.0 for each pod that has GPUs to itself and hardly uses them; move none for it.

    A GPU that one pod has is lost to all others, however little the pod does with it. Where it
    runs does not change that, so no pod is moved: its owner is told, with the GPU-hours that were
    not used. Pods that ran for all of `stableFor` are evaluated, by the mean use of their GPUs in
    that time, as far as Prometheus has samples of it. What shares a GPU keeps nobody from it, and
    is not evaluated.
    """

    summary: ClassVar[str] = "Tell which pods hold GPUs and hardly use them, with the GPU-hours."
    codes: ClassVar[tuple[str, ...]] = ("IDL", "RDG003")

    kind: Literal["IdleGPUs"] = "IdleGPUs"
    mode: Literal["Audit"] = Field("Audit", description="It is only shown: no pod is moved for it.")
    match: Match = Field(description="The pods to evaluate.")
    below: Ratio = Field(
        0.05, description="A pod that uses less of its GPUs on average hardly uses them."
    )
    stableFor: PositiveDuration = Field(
        timedelta(hours=6),
        description="Over what time the use is averaged, and for how long a pod must have run.",
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=3), description="An older value counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9,
        description="The share of pods with GPUs that must have a value; with less, the policy is "
        "not evaluated.",
    )

    def requests(self) -> list[ReadingRequest]:
        """What the pods use of their GPUs, over all of that time."""
        return [
            ReadingRequest(
                "pod.gpu",
                window=self.span,
                max_age=self.maxAge.total_seconds(),
                min_coverage=self.minCoverage,
            )
        ]

    def compile(self, snapshot: Snapshot) -> IdleGPUsTerm | Problem:
        """The term, or why the reading is not fit to tell anybody."""
        (request,) = self.requests()
        reading = snapshot.readings.find(request)
        if reading is None:
            return snapshot.readings.missing(request)
        if reading.problem is not None:
            return Problem(reading.problem.code, f"{request.name}: {reading.problem.message}")
        if not len(reading.values) == len(reading.ages) == len(snapshot.pods):
            text = f"{len(reading.values)} values for {len(snapshot.pods)} pods"
            return Problem("RDG006", f"{request.name} has {text}")
        held = held_gpus(snapshot)
        whole = select_pods(self.match, snapshot) & (held > 0) & (snapshot.pod_age >= self.span)
        use = reading.values / held.clip(1e-9)
        fresh = (reading.ages <= request.max_age) & (use >= 0) & (use <= 1)
        wanted, present = int(whole.sum()), int((whole & fresh).sum())
        if present < self.minCoverage * wanted:
            text = f"{request.name} has a fresh value for {present} of {wanted} pods that the "
            return Problem("RDG003", f"{text}policy selects, less than {self.minCoverage:.0%}")
        return IdleGPUsTerm(snapshot, held, use, whole & fresh, self.below, self.span)

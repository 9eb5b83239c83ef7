"""What sample reports say of schedulers, and of landings compared with their predictions."""

from rescheduler.model.moves.plan_basis import Calibration, LandingRates, SchedulerResult
from rescheduler.model.problem import Problem


def schedulers(problem: Problem | None = None) -> list[SchedulerResult]:
    """The default scheduler, and one for batch work that packs."""
    profile = {"weights": {"NodeResourcesFit": 1}, "strategy": {"type": "MostAllocated"}}
    return [
        SchedulerResult(
            name="batch",
            source="document packing, as /configz of 10.0.0.5:10259 says too",
            version="1.36",
            digest="b" * 64,
            profile=profile,
            problem=problem,
        ),
        SchedulerResult(
            name="default-scheduler",
            source="default profile of v1.36.3",
            version="1.36",
            digest="d" * 64,
        ),
    ]


def calibrated(*, trusted: bool) -> Calibration:
    """What 143 replacements showed; a good part of them landed elsewhere where not trusted."""

    def rates(kind: str, version: str, compared: int, hit: float) -> LandingRates:
        return LandingRates(
            kind=kind, version=version, compared=compared, hitRate=hit,
            likeliestRate=hit * 0.93, brier=0.31 if trusted else 1.07, expectedBrier=0.29,
        )  # fmt: skip

    hit = 0.993 if trusted else 0.61
    problem = Problem(
        code="GRD009",
        message="of 131 workloads with ReplicaSet pods under scheduler 1.36, 61% landed where "
        "that was predicted; at least 80% must (minLandingHitRate)",
    )
    return Calibration(
        scheduler="1.36",
        overall=rates("", "1.36", 143, hit),
        kinds=[
            rates("ReplicaSet", "1.35", 412, 0.97),
            rates("ReplicaSet", "1.36", 131, hit),
            rates("StatefulSet", "1.36", 12, 1.0),
        ],
        problem=None if trusted else problem,
    )

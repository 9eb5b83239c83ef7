"""How far predicted landings can be trusted: what reports show of it, and when acting must stop."""

from collections.abc import Iterable

from rescheduler.model.moves.calibration import LandingRecord, scheduler_version
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Calibration, LandingRates
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits


def calibration(history: History, limits: Limits, version: str) -> Calibration:
    """What was learned of landings under this version of the API server, in all and by kind."""
    scheduler = scheduler_version(version)
    records = [record for record in history.landings if record.compared]
    ours = [record for record in records if record.version == scheduler]
    return Calibration(
        scheduler=scheduler,
        overall=_rates(_summed(ours, scheduler)) if ours else None,
        kinds=[
            _rates(record) for record in sorted(records, key=lambda each: (each.version, each.kind))
        ],
        problem=distrust(history, limits, version),
    )


def distrust(history: History, limits: Limits, version: str) -> Problem | None:
    """GRD009: whether replacements have landed elsewhere than predicted too often, or None.

    Only landings under this version of the API server count: for each kind of owner, and for all
    kinds together.
    """
    scheduler = scheduler_version(version)
    ours = [record for record in history.landings if record.version == scheduler]
    for record in [*sorted(ours, key=lambda each: each.kind), _summed(ours, scheduler)]:
        if record.compared < max(limits.minLandingSample, 1):
            continue
        rate = record.within / record.weight
        if rate < limits.minLandingHitRate:
            whose = f"{record.kind} pods" if record.kind else "all pods"
            return Problem(
                code="GRD009",
                message=f"Of {record.compared} replacements of {whose} under scheduler "
                f"{scheduler}, {rate:.0%} landed where that was predicted; at least "
                f"{limits.minLandingHitRate:.0%} must (minLandingHitRate)",
            )
    return None


def kept_share(history: History, limits: Limits, version: str) -> float:
    """The measured share of replacements that landed where that was predicted, of all kinds.

    Until enough were compared it is the least that is acted on.
    """
    scheduler = scheduler_version(version)
    total = _summed((each for each in history.landings if each.version == scheduler), scheduler)
    if total.compared < max(limits.minLandingSample, 1):
        return limits.minLandingHitRate
    return total.within / total.weight


def _summed(records: Iterable[LandingRecord], version: str) -> LandingRecord:
    """All kinds as one record without a kind."""
    total = LandingRecord(kind="", version=version)
    for record in records:
        total.compared += record.compared
        total.weight += record.weight
        total.within += record.within
        total.likeliest += record.likeliest
        total.brier += record.brier
        total.expected += record.expected
    return total


def _rates(record: LandingRecord) -> LandingRates:
    return LandingRates(
        kind=record.kind,
        version=record.version,
        compared=record.compared,
        hitRate=record.within / record.weight,
        likeliestRate=record.likeliest / record.weight,
        brier=record.brier / record.weight,
        expectedBrier=record.expected / record.weight,
    )

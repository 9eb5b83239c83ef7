"""How far predicted landings can be trusted: what reports show of it, and which must stop."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rescheduler.model.moves.calibration import (
    REMEMBERED,
    LandingRecord,
    WorkloadLandings,
    scheduler_version,
)
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Calibration, LandingRates
from rescheduler.model.problem import Problem
from rescheduler.model.wording import counted, instant
from rescheduler.policies.limits import Limits

_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Distrust:
    """Which landings are not trusted now.

    kinds: of the kinds of controllers of which nothing moves anywhere, why. within: of those of
    which nothing moves in a namespace, by kind and namespace.
    """

    kinds: dict[str, Problem]
    within: dict[tuple[str, str], Problem]

    def refusal(self, kind: str, namespace: str) -> Problem | None:
        """ELG039: why pods of this kind of controller are left alone there, or None."""
        return self.kinds.get(kind) or self.within.get((kind, namespace))

    @property
    def first(self) -> Problem | None:
        """GRD009: the first of what is not trusted, what holds everywhere first, or None."""
        for found in (*self.kinds.values(), *self.within.values()):
            return Problem("GRD009", found.message)
        return None


def calibration(history: History, limits: Limits, version: str, now: datetime) -> Calibration:
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
        problem=distrust(history, limits, version, now).first,
    )


def distrust(history: History, limits: Limits, version: str, now: datetime) -> Distrust:
    """Where replacements have landed elsewhere than predicted too often.

    Only landings under this version of the API server count. Each kind of controller is judged by
    itself, and each workload counts once, the less the longer ago it landed. Where the landings of
    one namespace miss, that kind is held there. It is held everywhere only where those of all
    others miss too, without the namespace that missed most.
    """
    scheduler = scheduler_version(version)
    kinds: dict[str, Problem] = {}
    within: dict[tuple[str, str], Problem] = {}
    for record in sorted(history.landings, key=lambda each: each.kind):
        if record.version != scheduler:
            continue
        landed = _remembered([record], now)
        whose = f"{record.kind or 'all'} pods"
        if found := _missed(
            _without_worst(landed, now), whose, scheduler, limits, now, "", record.kind
        ):
            kinds[record.kind] = found
        for namespace in sorted({each.namespace for each in landed}):
            own = [each for each in landed if each.namespace == namespace]
            where, name = f" in namespace {namespace}", f"{record.kind}/{namespace}"
            if found := _missed(own, whose, scheduler, limits, now, where, name):
                within[record.kind, namespace] = found
    return Distrust(kinds, within)


def _remembered(records: Iterable[LandingRecord], now: datetime) -> list[WorkloadLandings]:
    """The workloads of which landings were compared not too long ago."""
    landed = (each for record in records for each in record.workloads.values())
    return [each for each in landed if each.weight(now) > _NOTHING]


def _without_worst(landed: Sequence[WorkloadLandings], now: datetime) -> list[WorkloadLandings]:
    """Without the namespace that missed most, where there are several."""
    missed: dict[str, float] = {}
    for each in landed:
        lack = each.weight(now) * (1.0 - each.within)
        missed[each.namespace] = missed.get(each.namespace, 0.0) + lack
    if len(missed) < 2:
        return list(landed)
    worst = max(missed, key=lambda name: (missed[name], name))
    return [each for each in landed if each.namespace != worst]


def _share(landed: Sequence[WorkloadLandings], now: datetime) -> float:
    total = sum(each.weight(now) for each in landed)
    return sum(each.weight(now) * each.within for each in landed) / total


def _missed(
    landed: Sequence[WorkloadLandings],
    whose: str,
    scheduler: str,
    limits: Limits,
    now: datetime,
    where: str,
    name: str,
) -> Problem | None:
    """ELG039 where too few of these came as predicted, with when it ends at the latest."""
    sample = limits.minLandingSample
    if len(landed) < sample or (rate := _share(landed, now)) >= limits.minLandingHitRate:
        return None
    times = sorted(each.at for each in landed)
    until = times[len(times) - sample] + REMEMBERED
    return Problem(
        "ELG039",
        f"of {counted(len(landed), 'workload')} with {whose} under scheduler {scheduler}{where}, "
        f"{rate:.0%} landed where that was predicted; at least {limits.minLandingHitRate:.0%} must "
        f"(minLandingHitRate). Such pods stay{where} at the latest until {instant(until)}, "
        f"or `rescheduler reset landings {name}` forgets them",
    )


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

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
from rescheduler.model.moves.plan_basis import Calibration, LandingRates
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, instant
from rescheduler.policies.limits import Limits

_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Distrust:
    """Which landings are not trusted now.

    kinds: kinds of controllers whose pods do not move anywhere, and why. within: the same for one
    namespace, by kind and namespace.
    """

    kinds: dict[str, Problem]
    within: dict[tuple[str, str], Problem]

    def refusal(self, kind: str, namespace: str) -> Problem | None:
        """ELG039: why pods of this kind of controller are left alone there, or None."""
        return self.kinds.get(kind) or self.within.get((kind, namespace))

    @property
    def first(self) -> Problem | None:
        """GRD009: the first of what is not trusted, what holds everywhere first, or None."""
        for problem in (*self.kinds.values(), *self.within.values()):
            return Problem("GRD009", problem.message)
        return None


def calibration(history: History, limits: Limits, version: str, now: datetime) -> Calibration:
    """What was learned of landings under this version of the API server, in all and by kind."""
    scheduler = scheduler_version(version)
    records = [record for record in history.landings if record.compared]
    ours = [record for record in records if record.version == scheduler]
    return Calibration(
        scheduler=scheduler,
        overall=_rates(_sum_records(ours, scheduler)) if ours else None,
        kinds=[
            _rates(record)
            for record in sorted(records, key=lambda record: (record.version, record.kind))
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
    for record in sorted(history.landings, key=lambda record: record.kind):
        if record.version != scheduler:
            continue
        landed = _recent_landings([record], now)
        whose = f"{record.kind or 'all'} pods"
        if problem := _refuse_landings(
            _without_worst(landed, now), whose, scheduler, limits, now, "", record.kind
        ):
            kinds[record.kind] = problem
        for namespace in sorted({landings.namespace for landings in landed}):
            own = [landings for landings in landed if landings.namespace == namespace]
            where, name = f" in namespace {namespace}", f"{record.kind}/{namespace}"
            if problem := _refuse_landings(own, whose, scheduler, limits, now, where, name):
                within[record.kind, namespace] = problem
    return Distrust(kinds, within)


def _recent_landings(records: Iterable[LandingRecord], now: datetime) -> list[WorkloadLandings]:
    """The workloads whose landings were compared not too long ago."""
    landed = (workload for record in records for workload in record.workloads.values())
    return [landings for landings in landed if landings.weight(now) > _NOTHING]


def _without_worst(landed: Sequence[WorkloadLandings], now: datetime) -> list[WorkloadLandings]:
    """Without the namespace that missed most, where there are several."""
    missed: dict[str, float] = {}
    for landings in landed:
        lack = landings.weight(now) * (1.0 - landings.within)
        missed[landings.namespace] = missed.get(landings.namespace, 0.0) + lack
    if len(missed) < 2:
        return list(landed)
    worst = max(missed, key=lambda name: (missed[name], name))
    return [landings for landings in landed if landings.namespace != worst]


def _share(landed: Sequence[WorkloadLandings], now: datetime) -> float:
    total = sum(landings.weight(now) for landings in landed)
    return sum(landings.weight(now) * landings.within for landings in landed) / total


def _refuse_landings(
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
    times = sorted(landings.at for landings in landed)
    until = times[len(times) - sample] + REMEMBERED
    return Problem(
        "ELG039",
        f"of {count_text(len(landed), 'workload')} with {whose} under scheduler "
        f"{scheduler}{where}, "
        f"{rate:.0%} landed where that was predicted; at least {limits.minLandingHitRate:.0%} must "
        f"(minLandingHitRate). Such pods stay{where} at the latest until {instant(until)}, "
        f"or `rescheduler reset landings {name}` forgets them",
    )


def _sum_records(records: Iterable[LandingRecord], version: str) -> LandingRecord:
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

"""Five clusters as a status finds them: at work, paused, at its limits, only reporting, broken."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from rescheduler.model.kept_cycles import CycleLog, CycleRecord, KeptCycles
from rescheduler.model.moves.gains import GainRecord
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan_basis import CountedPods
from rescheduler.model.problem import Problem
from rescheduler.model.run_status import LockView, RunStatus
from rescheduler.policies.limits import Limits
from rescheduler.reporting.status.status_building import status_of
from rescheduler.reporting.status.status_facts import CronFacts, StatusFacts
from rescheduler.runtime.ended_cycle import ended_cycle, failed_cycle
from tests.reporting import samples
from tests.reporting.full import SUGGESTION

NOW = samples.TAKEN + timedelta(minutes=3)
LIMITS = Limits.model_validate({"movesPerHour": 4, "movesPerDay": "10%", "cyclePeriod": "5m"})

NOBODY = LockView(holder="", renewed=None, expires=None, live=False)


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def past_move(number: int, minutes: float, **more: Any) -> PastMove:
    """A move made so long ago that was Ready soon, unless it says otherwise."""
    fields: dict[str, Any] = {
        "plan": "1f0c42aa91d3",
        "podUid": f"uid-{number}",
        "namespace": "shop",
        "pod": f"web-{number}",
        "workload": "uid-of-web",
        "source": f"node-{number}",
        "at": ago(minutes),
        "state": "ready",
        "code": "ACT001",
        "settled": ago(minutes - 1),
        "policies": ["hot-gpus"],
        **more,
    }
    return PastMove(**fields)


def record(minutes: float, **changes: Any) -> CycleRecord:
    """The record of the cycle that the sample outcome is of."""
    cycle = structs.replace(ended_cycle(samples.outcome(), ago(minutes), 47.0), **changes)
    return CycleRecord(
        cycle=cycle, instance="rescheduler-7c9f_1a2b", next=ago(minutes) + timedelta(minutes=5)
    )


def held(minutes: float, code: str, message: str) -> CycleRecord:
    """A cycle that evicted nothing, and why."""
    return record(minutes, verdict="held", code=code, message=message, evicted=0)


def facts(**changes: Any) -> StatusFacts:
    """A cluster at work: the last cycle moved pods, and the lock is held."""
    fields: dict[str, Any] = {
        "now": NOW,
        "cluster": "prod",
        "paused": False,
        "installed": True,
        "lock": LockView(
            holder="rescheduler-7c9f_1a2b",
            renewed=NOW - timedelta(seconds=3),
            expires=NOW + timedelta(seconds=57),
            live=True,
        ),
        "history": History(moves=[past_move(1, 40), past_move(2, 3)]),
        "doubt": "",
        "kept": KeptCycles(
            log=CycleLog(records=[record(3), held(8, "PAC001", "Limit reached.")]),
            report=samples.outcome(),
        ),
        "limits": LIMITS,
        "wanted": ("AdmissionPolicy",),
        **changes,
    }
    return StatusFacts(**fields)


def at_work() -> StatusFacts:
    under_way = past_move(3, 0.5, state="evicted", settled=None, gone=ago(0.4))
    return facts(history=History(moves=[past_move(1, 40), past_move(2, 3), under_way]))


def paused() -> StatusFacts:
    log = CycleLog(records=[held(3, "GRD006", "Evictions are paused."), record(8)])
    return facts(paused=True, lock=None, kept=KeptCycles(log=log, report=samples.outcome()))


def at_its_limits() -> StatusFacts:
    moves = [past_move(number, 50 - number) for number in range(4)]
    text = "4 moves since 2026-11-21 13:05:07 UTC reach the limit of 4 (movesPerHour 4)"
    log = CycleLog(records=[held(3, "PAC005", text)])
    return facts(history=History(moves=moves), kept=KeptCycles(log=log, report=samples.outcome()))


def only_reporting() -> StatusFacts:
    counted = [CountedPods(limit="movesPerDay", group="", pods=345)]
    plan = samples.plan(suggestions=[SUGGESTION], countedPods=counted)
    row = CycleRecord(cycle=ended_cycle(plan, ago(3), 4.0), instance="audit-x_1")
    cron = CronFacts("*/15 * * * *", suspended=False, due=ago(-12), next=ago(-12))
    kept = KeptCycles(log=CycleLog(records=[row]), report=plan)
    return facts(kept=kept, cron=cron, lock=NOBODY, history=History(), wanted=())


def broken() -> StatusFacts:
    gains = GainRecord(policy="hot-gpus")
    gains.demote(ago(60), "measured 0.3 of the 4.0 that they promised")
    lost = past_move(1, 40, state="lost", code="ACT011")
    history = History(moves=[lost], gains=[gains], slow={"big": ago(20)}, rampSince=ago(90))
    failure = failed_cycle(
        "http://prometheus.monitoring:9090 did not answer", ago(70), 31.0, mode="Enforce"
    )
    rows = [CycleRecord(cycle=failure, instance="rescheduler-7c9f_1a2b", next=ago(65))]
    log = CycleLog(omitted="the last report takes 900 KiB, and 700 KiB are kept", records=rows)
    return facts(
        history=history,
        kept=KeptCycles(log=log),
        doubt="ConfigMap rescheduler/rescheduler-state is older than it was",
        lock=LockView(holder="rescheduler-7c9f_1a2b", renewed=ago(66), expires=ago(65), live=False),
        unsteered=(
            Problem("STR001", "Nothing is steered (steering.by AdmissionPolicy: no such table)."),
        ),
        notes=("CronJob rescheduler could not be read: 403",),
    )


def nothing_there() -> StatusFacts:
    return facts(
        installed=False,
        lock=NOBODY,
        kept=None,
        history=History(),
        limits=None,
        wanted=None,
    )


SAMPLES: dict[str, Callable[[], StatusFacts]] = {
    "status-at-work": at_work,
    "status-paused": paused,
    "status-at-its-limits": at_its_limits,
    "status-only-reporting": only_reporting,
    "status-broken": broken,
    "status-nothing-there": nothing_there,
}


def status(name: str) -> RunStatus:
    return status_of(SAMPLES[name]())

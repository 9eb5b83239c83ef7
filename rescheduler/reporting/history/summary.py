"""Folds the records of an audit trail into what a person asks of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rescheduler.model.moves.gains import Gain
from rescheduler.model.moves.plan import PlannedMove, PodRef, Result
from rescheduler.model.reasons import CATALOG
from rescheduler.model.trails.trail import (
    AnswerRecord,
    AnyRecord,
    CycleEnd,
    CycleStart,
    FollowUpRecord,
    Guard,
    Intent,
    MeasuredRecord,
    MoveEnd,
    OfMove,
    Planned,
    PlannedStep,
    TrailEntry,
)
from rescheduler.model.trails.trail_history import (
    Integrity,
    PastCycle,
    PastStep,
    PastTotals,
    Prevented,
    TrailHistory,
)

UNFINISHED = "unfinished"


@dataclass
class _Cycle:
    started: datetime
    start: CycleStart
    plan: Planned | None = None
    end: CycleEnd | None = None
    ended: datetime | None = None
    moves: dict[str, PlannedMove] = field(default_factory=dict)
    evicted: int = 0


@dataclass
class _Step:
    at: datetime
    plan: str
    uid: str
    planned: PlannedMove | None = None
    weights: dict[str, float] = field(default_factory=dict)
    intent: Intent | None = None
    result: Result = "unknown"
    code: str = ""
    message: str = ""
    node: str = ""
    predicted: float | None = None
    ready: float | None = None
    lost: bool = False
    gain: Gain | None = None

    def take(self, record: OfMove) -> None:
        """Take in what is known of it now; a code without a message keeps what is said of it."""
        if record.message or record.code != self.code:
            reason = CATALOG.get(record.code)
            self.message = record.message or ("" if reason is None else reason.sentence)
        self.result, self.code = record.result, record.code


@dataclass
class _Held:
    cycles: set[tuple[str, int]] = field(default_factory=set)
    most: int = 0
    first: datetime | None = None
    last: datetime | None = None
    days: dict[str, int] = field(default_factory=dict)


class Summary:
    """Takes the records in their order.

    since: what began earlier is left out.
    """

    def __init__(self, since: datetime | None = None) -> None:
        self._since = since
        self._open: dict[str, tuple[int, _Cycle]] = {}
        self._ended: list[PastCycle] = []
        self._steps: dict[tuple[str, str], _Step] = {}
        self._held: dict[tuple[str, str], _Held] = {}
        self._first: datetime | None = None
        self._last: datetime | None = None

    def add(self, entry: TrailEntry, record: AnyRecord) -> None:
        """The next record."""
        if self._since is not None and entry.at < self._since:
            return
        self._first = self._first or entry.at
        self._last = entry.at
        if isinstance(record, CycleStart):
            if entry.chain in self._open:
                self._ended.append(_past_cycle(self._open[entry.chain][1]))
            self._open[entry.chain] = (entry.seq, _Cycle(entry.at, record))
            return
        if isinstance(record, FollowUpRecord | MeasuredRecord):
            self._later(record)
            return
        current = self._open.get(entry.chain)
        if current is not None and current[0] == entry.cycle:
            self._take_in_cycle(current[1], entry, record)

    def _take_in_cycle(self, cycle: _Cycle, entry: TrailEntry, record: AnyRecord) -> None:
        match record:
            case Planned():
                cycle.plan = record
                for code, number in record.refused.items():
                    self._hold("planning", code, number, entry)
            case PlannedStep():
                cycle.moves[record.move.pod.uid] = record.move
            case Guard():
                self._hold("guard", record.code, 1, entry)
            case Intent():
                step = self._step(cycle, entry, record.plan, record.uid)
                step.intent = record
            case AnswerRecord():
                self._step(cycle, entry, record.plan, record.uid).take(record)
                cycle.evicted += record.result == "evicted"
            case MoveEnd():
                self._take_move_end(cycle, entry, record)
            case CycleEnd():
                cycle.end, cycle.ended = record, entry.at
                self._ended.append(_past_cycle(cycle))
                del self._open[entry.chain]
            case _:
                pass

    def _take_move_end(self, cycle: _Cycle, entry: TrailEntry, record: MoveEnd) -> None:
        if record.result == "skipped":
            step = self._steps.get((record.plan, record.uid))
            if step is not None and not step.code:  # it was announced, and never sent
                del self._steps[record.plan, record.uid]
            return
        self._step(cycle, entry, record.plan, record.uid).take(record)
        if record.result == "refused":
            self._hold("eviction", record.code, 1, entry)

    def _step(self, cycle: _Cycle, entry: TrailEntry, plan: str, uid: str) -> _Step:
        key = (plan, uid)
        if key not in self._steps:
            weights = (
                {policy.name: policy.weight for policy in cycle.plan.policies} if cycle.plan else {}
            )
            self._steps[key] = _Step(entry.at, plan, uid, cycle.moves.get(uid), weights)
        return self._steps[key]

    def _later(self, record: FollowUpRecord | MeasuredRecord) -> None:
        step = self._steps.get((record.plan, record.uid))
        if step is None:
            return  # it was made before what is listed
        if isinstance(record, MeasuredRecord):
            step.gain = record.gain if record.gain.measured else None
            return
        step.take(record)
        step.lost, step.node = record.state == "lost", record.node
        step.ready = record.seconds if record.state == "ready" else None
        step.predicted = step.predicted if record.predicted is None else record.predicted

    def _hold(self, stage: str, code: str, number: int, entry: TrailEntry) -> None:
        held = self._held.setdefault((stage, code), _Held())
        day = f"{entry.at.astimezone(UTC):%Y-%m-%d}"
        held.cycles.add((entry.chain, entry.cycle))
        held.most = max(held.most, number)
        held.days[day] = max(held.days.get(day, 0), number)
        held.first = held.first or entry.at
        held.last = entry.at

    def history(self, integrity: Integrity, *, tool: str, source: str) -> TrailHistory:
        """All of it, the newest cycles and moves first."""
        steps = [_past_step(step) for step in self._steps.values()]
        cycles = [*self._ended, *(_past_cycle(cycle) for _, cycle in self._open.values())]
        cycles.sort(key=lambda cycle: cycle.started)
        return TrailHistory(
            tool=tool,
            source=source,
            since=self._since,
            first=self._first,
            last=self._last,
            totals=self._totals(steps, cycles),
            moves=sorted(steps, key=lambda step: step.at, reverse=True),
            cycles=cycles[::-1],
            prevented=self._prevented_rows(),
            integrity=integrity,
        )

    def _prevented_rows(self) -> list[Prevented]:
        rows = []
        for (stage, code), held in self._held.items():
            if held.first is None or held.last is None:
                continue
            reason = CATALOG.get(code)
            rows.append(
                Prevented(
                    code=code,
                    stage=stage,
                    sentence=reason.sentence if reason else code,
                    advice=reason.advice if reason else "",
                    cycles=len(held.cycles),
                    most=held.most,
                    first=held.first,
                    last=held.last,
                    days=held.days,
                )
            )
        order = {"guard": 0, "eviction": 1, "planning": 2}
        return sorted(rows, key=lambda e: (order[e.stage], -e.cycles, -e.most, e.code))

    def _totals(self, steps: list[PastStep], cycles: list[PastCycle]) -> PastTotals:
        made = [step for step in steps if step.result == "evicted"]
        landed = [step for step in made if step.landedOn]
        ready = [step.readySeconds for step in made if step.readySeconds is not None]
        promised = sum(step.promised or 0.0 for step in made)
        compared = [step for step in made if step.measured]
        measured = sum(step.brought or 0.0 for step in compared)
        return PastTotals(
            cycles=len(cycles),
            failed=sum(cycle.verdict == "failed" for cycle in cycles),
            unfinished=sum(cycle.verdict == UNFINISHED for cycle in cycles),
            evicted=len(made),
            refused=sum(step.result == "refused" for step in steps),
            unknown=sum(step.result == "unknown" for step in steps),
            landed=len(landed),
            asPredicted=sum((step.predicted or 0.0) > 0 for step in landed),
            onLikeliest=sum(step.landedOn == step.expected for step in landed),
            returned=sum(step.landedOn == step.source for step in landed),
            lost=sum(step.lost and step.result == "evicted" for step in self._steps.values()),
            ready=len(ready),
            readySeconds=sum(ready) / len(ready) if ready else None,
            promised=promised,
            compared=len(compared),
            promisedOfCompared=sum(
                _weighted_gain(step, step.gain.promised)
                for step in self._steps.values()
                if step.result == "evicted" and step.gain is not None
            ),
            measured=measured,
            perPromised=_ratio_to_gain(len(made), promised),
            perMeasured=_ratio_to_gain(len(compared), measured),
        )


def _ratio_to_gain(number: int, gain: float) -> float | None:
    """How many for each 1.0 of it; None where there is nothing, or no improvement."""
    return number / gain if number and gain > 0 else None


def _past_cycle(cycle: _Cycle) -> PastCycle:
    plan, end = cycle.plan, cycle.end
    seconds = None if cycle.ended is None else (cycle.ended - cycle.started).total_seconds()
    return PastCycle(
        started=cycle.started,
        seconds=seconds,
        mode=cycle.start.mode,
        verdict=end.verdict if end else UNFINISHED,
        code=end.code if end else "",
        message=end.message if end else "",
        exit=end.exit if end else None,
        plan=plan.id if plan else "",
        moves=plan.moves if plan else 0,
        evicted=end.evicted if end else cycle.evicted,
        refused=sum(plan.refused.values()) if plan else 0,
        scoreBefore=plan.scoreBefore if plan else None,
        scoreAfter=plan.scoreAfter if plan else None,
    )


def _past_step(step: _Step) -> PastStep:
    planned, intent = step.planned, step.intent
    shares = planned.landing if planned else []
    predicted = intent.landing if intent else {share.node: share.probability for share in shares}
    expected = max(predicted, key=lambda node: predicted[node], default="")
    return PastStep(
        at=step.at,
        plan=step.plan,
        pod=_pod(step),
        owner=planned.owner if planned else None,
        source=intent.source if intent else planned.source if planned else "",
        expected=expected,
        probability=predicted.get(expected),
        landedOn=step.node,
        predicted=step.predicted if step.node else None,
        readySeconds=step.ready,
        result=step.result,
        code=step.code,
        message=step.message,
        reasons=planned.reasons if planned else [],
        promised=planned.gain if planned else None,
        brought=None if step.gain is None else _weighted_gain(step, step.gain.measured),
        gains={name: gain for name, gain in planned.gains.items() if gain} if planned else {},
        measured={} if step.gain is None else step.gain.measured,
    )


def _weighted_gain(step: _Step, gains: Mapping[str, float]) -> float:
    return sum(step.weights.get(name, 1.0) * gain for name, gain in gains.items())


def _pod(step: _Step) -> PodRef:
    if step.planned is not None:
        return step.planned.pod
    if step.intent is not None:
        return PodRef(namespace=step.intent.namespace, name=step.intent.pod, uid=step.uid)
    return PodRef(namespace="", name="", uid=step.uid)

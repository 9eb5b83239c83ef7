"""History: our recent moves, which budgets, cool-downs and load corrections follow from.

It is the content of the durable ledger. Beside the moves only how they compared with what was
predicted is remembered, which outlives them, and what policies select: what can be derived from the
entries (charges, cool-downs, boomerangs) is never stored beside them.
"""

from datetime import datetime, timedelta

import msgspec

from rescheduler.model.moves.calibration import LandingRecord, compare, likeliest
from rescheduler.model.moves.gains import MOST_BASELINES, MOST_POLICIES, Baseline, GainRecord
from rescheduler.model.moves.past_move import PastMove, mark
from rescheduler.model.moves.selection import SelectionRecord

MOST_RECORDS = 24
"""Kinds of owners times versions of the scheduler that are remembered; the latest are kept."""

IN_FLIGHT_NODES, COMPARED_NODES = 500, 20
"""Predicted nodes, the likeliest first, that a move keeps before and after it was compared."""

RAMP_CYCLES = 3
"""In so many of the cycles that move anything after a cold start, one pod is moved."""

SLOW_FOR = timedelta(hours=1)
"""So long a namespace is left alone after what its pods depend on took too long to read."""

LOOK_BACK = timedelta(hours=48)
"""How far back everything looks but budgets and cool-downs, which may look further."""

BESIDE = timedelta(hours=1)
"""How long before a batch a move may have been made that its readings do not show whole."""


RELIEVED_FOR = timedelta(hours=6)
"""How long after a move that found its node hot the node is relieved further, to `low`."""


class History(msgspec.Struct, omit_defaults=True):
    """Our moves, as far back as a limit needs them, oldest first; how they compared.

    baselines: the readings before the batches whose moves are still to be measured. gains: what the
    moves for each policy's sake have brought. selections: what each policy is known to select.
    acceptSelections: whether what policies select next is accepted at once, as people requested.
    slow: namespaces to when what their pods depend on took too long to read.
    rampSince: when we started cold; None once the slow start is over. rampMade: the moves made
    since then that are not kept any more.
    """

    moves: list[PastMove] = []
    landings: list[LandingRecord] = []
    rampSince: datetime | None = None
    rampMade: int = 0
    baselines: list[Baseline] = []
    gains: list[GainRecord] = []
    selections: list[SelectionRecord] = []
    acceptSelections: bool = False
    slow: dict[str, datetime] = {}

    def ramp_left(self, since: datetime) -> int:
        """How many cycles of the slow start are left, that which began then included."""
        if self.rampSince is None:
            return 0
        made = sum(move.charged and self.rampSince <= move.at < since for move in self.moves)
        return max(0, RAMP_CYCLES - self.rampMade - made)

    def recent(self, now: datetime) -> list[PastMove]:
        """The moves that are in flight, or were made or closed within `LOOK_BACK`."""
        since = now - LOOK_BACK
        return [move for move in self.moves if move.in_flight or move.last >= since]

    def carry_out(self, move: PastMove, code: str, now: datetime) -> None:
        """The eviction of this intent was carried out, with that code."""
        if move.frees:
            self.release(move, now)
        else:
            move.evict(code)

    def release(self, move: PastMove, now: datetime) -> None:
        """The Pending replacement of an earlier move was evicted: that one keeps the slot."""
        move.complete(now)
        for released in self.moves:
            if released.podUid == move.frees and released.steered is not None and released.charged:
                released.steered.free()
                self.learn(released, now)

    def learn(self, move: PastMove, now: datetime) -> bool:
        """Count where a move landed, once: at its first node, or as Pending when it is lost.

        Answers whether it was counted. A lost move whose replacement was never seen shows nothing
        of the scheduler.
        """
        lost = move.state == "lost" and not move.unread
        pending = (lost or move.freed) and bool(move.replacement)
        if move.compared or not move.scheduler or not (move.landedOn or pending):
            return False
        comparison = compare(move.landing, move.unschedulable, move.landedOn)
        self._record(move.controllerKind, move.scheduler).add(
            comparison, now, move.namespace, mark(move.workload)
        )
        move.compared, move.landing = True, likeliest(move.landing, COMPARED_NODES)
        move.unpredicted = bool(move.landedOn) and not comparison.within
        return True

    def _record(self, kind: str, version: str) -> LandingRecord:
        for record in self.landings:
            if (record.kind, record.version) == (kind, version):
                return record
        if len(self.landings) >= MOST_RECORDS:
            self.landings.remove(min(self.landings, key=lambda r: r.at.isoformat() if r.at else ""))
        self.landings.append(LandingRecord(kind=kind, version=version))
        return self.landings[-1]

    def begin(self, baseline: Baseline) -> None:
        """Keep the readings before a batch; where it goes on, those of before its first move."""
        same = (baseline.plan, baseline.batch)
        if any(m.unmeasured and (m.plan, m.batch) == same for m in self.moves):
            return
        kept = [
            past_baseline
            for past_baseline in self.baselines
            if (past_baseline.plan, past_baseline.batch) != same
        ]
        self.baselines = [*kept, baseline][-MOST_BASELINES:]

    def baseline(self, move: PastMove) -> Baseline | None:
        """The readings before the batch of this move, where they are kept."""
        matches = (b for b in self.baselines if (b.plan, b.batch) == (move.plan, move.batch))
        return next(matches, None)

    def moves_beside(self, since: datetime) -> list[PastMove]:
        """The moves that readings from then on may not show whole."""
        return [move for move in self.moves if move.charged and move.at >= since - BESIDE]

    def trim_baselines(self) -> None:
        """Keep of the readings before each batch only what is needed to measure its moves."""
        kept: list[Baseline] = []
        for baseline in self.baselines:
            batch = (baseline.plan, baseline.batch)
            moves = [m for m in self.moves if m.unmeasured and (m.plan, m.batch) == batch]
            if not moves:
                continue
            if all(move.landedOn or not move.in_flight for move in moves):
                own = {name for move in moves for name in (move.source, move.landedOn)}
                beside = self.moves_beside(kept[-1].at if kept else baseline.at)
                baseline.keep(own | {n for m in beside for n in (m.source, m.landedOn)}, own)
            kept.append(baseline)
        self.baselines = kept

    def gains_of(self, policy: str) -> GainRecord:
        """What the moves for this policy's sake have brought; begun here if there is none."""
        record = next((gain for gain in self.gains if gain.policy == policy), None)
        if record is None:
            record = GainRecord(policy=policy)
            spare = [gain for gain in self.gains if gain.demoted is None]
            if len(self.gains) >= MOST_POLICIES and spare:
                self.gains.remove(spare[0])
            self.gains.append(record)
        return record

    def charged_since(self, since: datetime) -> list[PastMove]:
        """The moves that count against a budget whose window began then."""
        return [move for move in self.moves if move.charged and move.at >= since]

    def in_flight(self, workload: str) -> int:
        """How many replacements of this workload (by UID) are still pending."""
        ours = (move for move in self.moves if move.workload == workload)
        return sum(move.in_flight or move.settling for move in ours)

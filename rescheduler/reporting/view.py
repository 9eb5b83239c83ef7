"""The view: a plan or an outcome as people see it; each report is drawn from it alone."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from rescheduler.model.moves.plan import (
    Mode,
    Outcome,
    Plan,
    Report,
    plan_in,
)
from rescheduler.model.moves.plan_basis import Calibration, ReadingResult
from rescheduler.model.moves.search_summary import Stop
from rescheduler.model.problem import Problem
from rescheduler.model.wording import clean, count_text, verb_for
from rescheduler.reporting.alerts import Alert, alerts
from rescheduler.reporting.headline import headline
from rescheduler.reporting.judgement import Judgement, judgement, judging_policies, silent_policies
from rescheduler.reporting.measured_gains import GainRow, MeasuredRow, gain_rows, measured_rows
from rescheduler.reporting.next_steps import NOT_GIVEN, Invocation, NextStep, next_steps
from rescheduler.reporting.no_move import why_no_move
from rescheduler.reporting.phrasing import ARROW, age, amount, clock, percent, shorten, stamp
from rescheduler.reporting.rows import (
    NEGLIGIBLE,
    MoveRow,
    PolicyRow,
    RefusalGroup,
    groups,
    move_rows,
    policy_rows,
)
from rescheduler.reporting.suggestion_words import SuggestionRow, suggestion_rows

UNKNOWN = "\N{EM DASH}"
"""Stands for a number that nobody knows."""

STOPPED: dict[Stop, str] = {
    "complete": "no further move is worth it within the limits",
    "full": "the limits allow no more moves",
    "steps": "stopped when all evaluations of one search were made",
    "time": "stopped when its time was up",
}
"""Why the search for moves ended."""

MOST_SCHEDULERS = 2
"""Schedulers that the headline names."""

MOST_VERSION = 16
"""Characters for their versions."""


@dataclass(frozen=True)
class Fact:
    """One number of the headline, with what it is a number of."""

    label: str
    value: str
    detail: str


def view(report: Report, invocation: Invocation = NOT_GIVEN) -> "View":
    """The view of this plan or outcome, with every string in it made harmless (see `clean`)."""
    return View(msgspec.convert(clean_value(msgspec.to_builtins(report)), Report), invocation)


def clean_value(value: Any) -> Any:
    """Builtins with every string in them made harmless (see `clean`)."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [clean_value(element) for element in value]
    if isinstance(value, dict):
        return {clean_value(key): clean_value(child) for key, child in value.items()}
    return value


@dataclass(frozen=True)
class View:
    """A cleaned plan or outcome with its tables. Use `view` to make one."""

    report: Report
    invocation: Invocation = NOT_GIVEN

    @property
    def plan(self) -> Plan:
        """The plan, also the one that an outcome is of."""
        return plan_in(self.report)

    @property
    def outcome(self) -> Outcome | None:
        """What became of the plan, or None where it is only proposed."""
        return self.report if isinstance(self.report, Outcome) else None

    @property
    def is_outcome(self) -> bool:
        """Whether it says what became of a plan."""
        return self.outcome is not None

    @property
    def kind(self) -> str:
        """Plan or Outcome."""
        return type(self.report).__name__

    @property
    def headline(self) -> str:
        """What it does, in one sentence."""
        return headline(self.report)

    @property
    def judgement(self) -> Judgement | None:
        """Healthy, not judged, powerless or improvable; None in plans of earlier versions."""
        return judgement(self.plan)

    @property
    def mode(self) -> Mode:
        """The mode of the run; what has an outcome was acted on."""
        return "Enforce" if self.is_outcome else self.plan.mode

    @property
    def title(self) -> str:
        """`PLAN 7f3c21ab` or `OUTCOME 7f3c21ab`."""
        return f"{self.kind.upper()} {self.plan.id or self.plan.digest[:8]}".rstrip()

    @property
    def cluster(self) -> str:
        """The cluster's name, or its UID where it has none."""
        return self.plan.cluster.name or self.plan.cluster.uid

    @property
    def time(self) -> str:
        """When the cluster was read, or when acting began."""
        return stamp(self.plan.taken if self.outcome is None else self.outcome.started)

    @property
    def band(self) -> str:
        """What the mode means for this report."""
        plan = self.plan
        if self.is_outcome:
            return "this plan was acted on"
        if plan.mode == "Enforce" and not any(not row.audit for row in self.moves):
            return "nothing is to be evicted"
        if plan.mode == "Enforce":
            return f"these moves may be made until {clock(plan.expires, plan.taken)}"
        return f"dry run, nothing was evicted; expires {clock(plan.expires, plan.taken)}"

    @property
    def verdict(self) -> Problem | None:
        """How acting ended, or None in a plan."""
        return None if self.outcome is None else self.outcome.verdict

    @property
    def calibration(self) -> Calibration | None:
        """How landings compared so far, as of the end of an outcome."""
        return self.report.calibration

    @property
    def all_good(self) -> bool:
        """Whether every move of an outcome went as it should."""
        return all(row.landed is not None and row.landed.mark == "good" for row in self.moves)

    @property
    def batches(self) -> int:
        """In how many batches the moves are made."""
        return len({row.move.batch for row in self.moves})

    @cached_property
    def alerts(self) -> list[Alert]:
        """Guards, problems and notes, the gravest first."""
        return alerts(self.report)

    @cached_property
    def policies(self) -> list[PolicyRow]:
        """The policies, the weightiest first."""
        return policy_rows(self.plan)

    @cached_property
    def moves(self) -> list[MoveRow]:
        """The moves in their order."""
        return move_rows(self.report)

    @cached_property
    def gains(self) -> list[GainRow]:
        """What the moves for each policy have brought so far."""
        return gain_rows(self.plan)

    @cached_property
    def measured(self) -> list[MeasuredRow]:
        """The earlier moves that were measured, the latest first."""
        return measured_rows(self.plan)

    @cached_property
    def groups(self) -> list[RefusalGroup]:
        """What is left alone, by reason."""
        return groups(self.plan)

    @property
    def left_alone(self) -> int:
        """How many candidates are left alone."""
        return sum(group.count for group in self.groups)

    @cached_property
    def facts(self) -> list[Fact]:
        """The numbers of the headline."""
        middle = [self._results, self._landings] if self.is_outcome else [self._moves]
        last = [*self._schedulers, *self._calibration]
        return [self._score, *middle, self._disruption, *self._search, self._readings, *last]

    @property
    def _score(self) -> Fact:
        before, after = self.plan.score.before, self.plan.score.after
        detail = "of 100 (100: no policy has a complaint)"
        silent = [
            policy.name for policy in self.plan.policies if policy.problem and policy.weight > 0
        ]
        if silent:
            more = f" and {len(silent) - 1} more" if len(silent) > 1 else ""
            verb = "were" if more else "was"
            return Fact("Score", UNKNOWN, f"not known: {silent[0]}{more} {verb} not evaluated")
        others = len(silent_policies(self.plan))
        if before is None or after is None:
            lacking = "no policy judges anything" if others else "no policy has a weight"
            return Fact("Score", UNKNOWN, f"not known: {lacking}")
        if others:
            all_of_them = count_text(
                others + len(judging_policies(self.plan)), "policy", "policies"
            )
            detail += f"; {others} of {all_of_them} {verb_for(others, 'judges', 'judge')} nothing"
        if self.is_outcome:
            detail = "of 100; the second number is predicted"
        digits = 1 if 0 < abs(after - before) < 1 else 0
        return Fact("Score", f"{before:.{digits}f} {ARROW} {after:.{digits}f}", detail)

    @property
    def _moves(self) -> Fact:
        audit = sum(row.audit for row in self.moves)
        only = f", {audit} for Audit policies only" if audit else ""
        steered = sum(row.move.steered is not None for row in self.moves)
        total = self.plan.totals
        if total.unsteered:
            counts = sorted(total.unsteered.items(), key=lambda pair: (-pair[1], pair[0]))
            why = [f"{n} {code or 'would gain nothing by it'}" for code, n in counts]
            only += f", {steered} of {len(self.moves)} moves steered ({', '.join(why)})"
        elif steered:
            only += f", {steered} steered"
        return Fact(
            "Moves",
            f"{len(self.moves)}",
            f"of {count_text(total.candidates, 'pod')} that could move{only}; "
            f"{count_text(total.pods, 'pod')} on {count_text(total.nodes, 'node')}{self._returns}",
        )

    @property
    def _returns(self) -> str:
        """How likely a pod comes back to its node: of the move where that is most likely."""
        if not self.moves:
            return ""
        most = max(row.returns for row in self.moves)
        if most < NEGLIGIBLE:
            return ""
        return f"; each at most {percent(most)} likely to come back"

    @property
    def _results(self) -> Fact:
        results = Counter(row.landed.result for row in self.moves if row.landed)
        others = [f"{results[name]} {name}" for name in ("refused", "unknown", "skipped")]
        tried = f"of {count_text(len(self.moves), 'move')}: " + ", ".join(others)
        return Fact("Evicted", str(results["evicted"]), tried)

    @property
    def _landings(self) -> Fact:
        results = [(row.move, row.result) for row in self.moves if row.result is not None]
        landed = [(move, result) for move, result in results if result.landedOn is not None]
        foreseen = sum(bool(result.predicted) for _, result in landed)
        back = sum(result.landedOn == move.source for move, result in landed)
        seconds = sorted(
            result.readySeconds for _, result in results if result.readySeconds is not None
        )
        ready = f"{len(seconds)} Ready"
        if seconds:
            ready += f", the slowest after {age(seconds[-1])}"
        return Fact(
            "As predicted",
            str(foreseen),
            f"of {len(landed)} replacements; {back} came back; {ready}",
        )

    @property
    def _disruption(self) -> Fact:
        moves = len(self.moves)
        note = "1.0 is an ordinary pod"
        if moves:
            note = f"in {count_text(self.batches, 'batch', 'batches')}; {note}"
        return Fact("Disruption", amount(self.plan.totals.disruption), note)

    @property
    def _search(self) -> list[Fact]:
        """How near the moves come to the best; nothing of an outcome, or without moves."""
        search = self.plan.search
        if search is None or self.is_outcome or search.within is None or not self.moves:
            return []
        moves = count_text(len(self.moves), "move")
        most = f"at least, of the best that {moves} could gain within these limits"
        why = f"; {STOPPED[search.stopped]}"
        if search.within == 0:
            best = (
                "this is the best move" if len(self.moves) == 1 else f"these are the best {moves}"
            )
            most = f"{best} that your limits allow"
            why = "" if search.stopped == "complete" else why
        chained = f"; {search.chained} in swaps and chains" if search.chained else ""
        if search.alone is not None:
            chained += f", without which {amount(search.alone)} of {amount(search.gain)} is gained"
        if search.singly is not None and amount(search.gain) != amount(search.singly):
            chained += f"; found move by move, a plan gains {amount(search.singly)}"
            chained += f", and this one {amount(search.gain)}"
        elif search.singly is not None:
            chained += "; no plan that is found move by move is as good"
        if search.resumed is not None:
            chained += f"; {amount(search.resumed)} of {amount(search.gain)} is gained by moves "
            chained += "of the last plan"
        evaluated = count_text(search.steps, "evaluation")
        return [Fact("Gain", percent(1 - search.within), f"{most}{chained}{why} ({evaluated})")]

    @property
    def _readings(self) -> Fact:
        readings = self.plan.readings
        if not readings:
            return Fact("Readings", "none", "needed by these policies")
        unfit = sum(reading.problem is not None for reading in readings)
        worst = min(reading.coverage for reading in readings)
        bad = f"; {unfit} of {len(readings)} unfit" if unfit else ""
        # One without an age is unfit, or of devices that no node has.
        aged = [reading for reading in readings if reading.ageSeconds is not None]
        if not aged:
            return Fact(
                "Readings", "none", f"of {count_text(len(readings), 'reading')} has a value"
            )
        oldest = max(aged, key=_staleness)
        return Fact(
            "Readings",
            percent(worst, 1),
            f"complete, oldest {age(oldest.ageSeconds)} (limit {age(oldest.maxAgeSeconds)}){bad}",
        )

    @property
    def _schedulers(self) -> list[Fact]:
        """Whose decisions are predicted, from where that is known; two of them by name."""
        schedulers = self.plan.schedulers
        if not schedulers:
            return []
        versions = " ".join(sorted({result.version or "unknown" for result in schedulers}))
        named = [f"{result.name}: {result.source}" for result in schedulers[:MOST_SCHEDULERS]]
        more = len(schedulers) - len(named)
        if more:
            named.append(f"{more} more")
        return [Fact("Scheduler", shorten(versions, MOST_VERSION), "; ".join(named))]

    @property
    def _calibration(self) -> list[Fact]:
        """How landings compared so far; nothing where none was compared."""
        rates = self.calibration.overall if self.calibration else None
        if rates is None:
            return []
        return [
            Fact(
                "Landings",
                percent(rates.hitRate),
                f"as predicted so far, of {count_text(rates.compared, 'replacement')}; "
                f"{percent(rates.likeliestRate)} on the likeliest node",
            )
        ]

    @property
    def nothing(self) -> Problem | None:
        """Why there is no move at all, or None where there are moves."""
        return why_no_move(self.plan, self.judgement, self.groups)

    @cached_property
    def suggestions(self) -> list[SuggestionRow]:
        """The changes that would help most; nothing of moves that were made meanwhile."""
        past = self.is_outcome and self.moves
        return [] if past else suggestion_rows(self.plan.suggestions)

    @cached_property
    def steps(self) -> list[NextStep]:
        """What to type next."""
        moves = any(not row.audit for row in self.moves)
        applicable = moves and not (self.plan.recorded or self.plan.guards)
        return next_steps(self.report, self.invocation, applicable=applicable)


def _staleness(reading: ReadingResult) -> float:
    """How much of its permitted age a reading has used; unknown is worst."""
    if reading.ageSeconds is None:
        return float("inf")
    return reading.ageSeconds / reading.maxAgeSeconds if reading.maxAgeSeconds else 0.0

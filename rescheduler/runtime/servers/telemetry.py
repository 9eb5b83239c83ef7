"""What a run shows of its cycles in the metrics of the catalogue, for Prometheus to scrape.

A counter that can count exists from the start with 0, so that alerts see its first increase. What
shows the last plan goes away when the process stands by, so that nobody is alarmed by it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from time import perf_counter
from typing import get_args

from prometheus_client import ProcessCollector

from rescheduler import __version__
from rescheduler.model.moves.assessment import AssessmentState
from rescheduler.model.moves.plan import (
    Mode,
    MoveResult,
    Outcome,
    Plan,
    PlannedMove,
    PolicyResult,
    Report,
    Result,
    plan_in,
)
from rescheduler.model.moves.plan_basis import Calibration
from rescheduler.model.reasons import CATALOG, UNREPLACED
from rescheduler.model.run_status import SpentBudget
from rescheduler.runtime.servers.metric_catalogue import MOST_NAMESPACES, OTHER_NAMESPACES
from rescheduler.runtime.servers.metric_registry import MetricRegistry

PHASES = ("observe", "measure", "plan", "act")
VERDICTS = ("good", "held", "not-evaluated", "failed", "skipped", "missed")
_GUARDS = tuple(code for code in CATALOG if code.startswith("GRD"))
_REVERTED_CODES = (*UNREPLACED, "ACT012")
_DEMOTIONS = ("MSR001", "SEL001", "SEL002")
_BY_POLICY = ("predicted_gain", "measured_gain", "measured_loss")

_LANDINGS = {
    "compared": "landing_compared",
    "hitRate": "landing_hit_ratio",
    "likeliestRate": "landing_likeliest_ratio",
    "brier": "landing_brier_score",
    "expectedBrier": "landing_expected_brier_score",
}
"""Field of the report to its metric."""


class Telemetry(MetricRegistry):
    """The metrics of one process. mode: of the run."""

    def __init__(self, mode: Mode = "Audit") -> None:
        super().__init__("run")
        ProcessCollector(registry=self.registry)
        self.gauge("info", mode, __version__).set(1)
        self.gauge("start_timestamp_seconds").set_to_current_time()
        self.forget_plan()
        self._start_at_zero()

    def _start_at_zero(self) -> None:
        for phase in PHASES:
            self.histogram("cycle_duration_seconds", phase)
        for verdict in VERDICTS:
            self.counter("cycles_total", verdict)
        for code in _REVERTED_CODES:
            self.counter("reverted_moves_total", code)

    def lead(self) -> None:
        """This process runs cycles from now on."""
        self.gauge("leading").set(1)

    def stand_by(self) -> None:
        """Another process runs cycles, or none: what was seen of the last plan is not shown."""
        self.gauge("leading").set(0)
        self.gauge("cycle_failures").set(0)
        self.forget_plan()

    def expect_cycle(self, at: datetime | None) -> None:
        """The next cycle is due then; None: it is not known."""
        self.gauge("cycle_next_timestamp_seconds").set(
            float("nan") if at is None else at.timestamp()
        )

    @contextmanager
    def time_phase(self, phase: str) -> Iterator[None]:
        """Measure a phase, also when it fails."""
        began = perf_counter()
        try:
            yield
        finally:
            self.histogram("cycle_duration_seconds", phase).observe(perf_counter() - began)

    def observe(self, report: Report) -> None:
        """Take over the figures of a plan or outcome; what it does not name any more goes away."""
        plan = plan_in(report)
        self._observe_policies(plan)
        self._observe_assessments(plan)
        self._observe_gains(plan)
        self._observe_readings(plan)
        self._observe_landings(report.calibration)
        self._observe_moves(plan)
        self._observe_guards(report)
        if isinstance(report, Outcome):
            for move, result in zip(plan.moves, report.moves, strict=True):
                self._count(move, result)

    def observe_budgets(self, budgets: Iterable[SpentBudget]) -> None:
        """Show what the limits on all moves have left; one that is not known is not shown."""
        for budget in budgets:
            if not budget.group and budget.most is not None and budget.remaining is not None:
                self.gauge("budget_moves", budget.limit).set(budget.most)
                self.gauge("budget_remaining_moves", budget.limit).set(budget.remaining)

    def _clear(self, *names: str) -> None:
        for name in names:
            self.gauge(name).clear()

    def _observe_moves(self, plan: Plan) -> None:
        self._clear("refused", "unsteered_moves", "budget_moves", "budget_remaining_moves")
        self.gauge("score").set(float("nan") if plan.score.before is None else plan.score.before)
        self.gauge("candidates").set(plan.totals.candidates)
        for mode in get_args(Mode):
            planned = sum(move.mode == mode for move in plan.moves)
            self.gauge("planned_moves", mode).set(planned)
        for name, counts in (
            ("refused", plan.totals.refused),
            ("unsteered_moves", plan.totals.unsteered),
        ):
            for code, count in counts.items():
                self.gauge(name, code).set(count)

    def _observe_guards(self, report: Report) -> None:
        plan = plan_in(report)
        holding = {guard.code for guard in plan.guards}
        if isinstance(report, Outcome):
            holding.add(report.verdict.code)
        if report.calibration is not None and report.calibration.problem is not None:
            holding.add(report.calibration.problem.code)
        for code in _GUARDS:
            self.gauge("guard_holding", code).set(code in holding)
        self._clear("note")
        for note in plan.notes:
            self.gauge("note", note.code).set(1)

    def _observe_policies(self, plan: Plan) -> None:
        self._clear("policy_cost", "policy_evaluated", "idle_gpus", "policy_selected")
        for policy in plan.policies:
            for resource in ("pods", "nodes"):
                number = getattr(policy.selection, resource, None)
                if number is not None:
                    self.gauge("policy_selected", policy.name, resource).set(number)
            self._observe_idle_gpus(policy)
            self.gauge("policy_evaluated", policy.name).set(policy.problem is None)
            for outcome in get_args(Result):
                self.counter("moves_total", policy.name, outcome)
            if policy.problem is None:
                labels = (policy.name, policy.kind, policy.mode)
                self.gauge("policy_cost", *labels).set(policy.cost.before)

    def _observe_idle_gpus(self, policy: PolicyResult) -> None:
        idle: dict[str, float] = {}
        for holder in policy.idle:
            idle[holder.namespace] = idle.get(holder.namespace, 0.0) + holder.daily / 24
        for rank, namespace in enumerate(sorted(idle, key=lambda name: (-idle[name], name))):
            shown = namespace if rank < MOST_NAMESPACES else OTHER_NAMESPACES
            self.gauge("idle_gpus", policy.name, shown).inc(idle[namespace])

    def _observe_assessments(self, plan: Plan) -> None:
        self._clear("policy_assessment")
        for state in get_args(AssessmentState):
            whole = plan.assessment
            self.gauge("assessment", state).set(whole is not None and whole.state == state)
            for policy in plan.policies:
                own = policy.assessment
                says = own is not None and own.state == state
                self.gauge("policy_assessment", policy.name, state).set(says)

    def _observe_gains(self, plan: Plan) -> None:
        """Count the moves that were measured in this very cycle; the others were before."""
        self._clear("policy_demoted")
        weights = {policy.name: policy.weight for policy in plan.policies}
        for policy in plan.policies:
            reasons = _demotions(policy)
            for code in _DEMOTIONS:
                self.gauge("policy_demoted", policy.name, code).set(code in reasons)
            for counter in _BY_POLICY:
                self.counter(f"{counter}_total", policy.name)
        for move in plan.measuredMoves:
            if move.at != plan.taken:
                continue
            for name in (move.measured.keys() & weights.keys()) - set(move.neutral):
                gain = weights[name] * move.measured[name]
                promised = max(weights[name] * move.promised[name], 0.0)
                self.counter("predicted_gain_total", name).inc(promised)
                counter = "measured_gain_total" if gain > 0 else "measured_loss_total"
                self.counter(counter, name).inc(abs(gain))

    def _observe_readings(self, plan: Plan) -> None:
        self._clear("reading_age_seconds", "reading_coverage_ratio", "reading_problem")
        for reading in plan.readings:
            self.gauge("reading_coverage_ratio", reading.name).set(reading.coverage)
            if reading.ageSeconds is not None:
                self.gauge("reading_age_seconds", reading.name).set(reading.ageSeconds)
            if reading.problem is not None:
                self.gauge("reading_problem", reading.name, reading.problem.code).set(1)

    def _observe_landings(self, calibration: Calibration | None) -> None:
        for field, name in _LANDINGS.items():
            self._clear(name)
            for rates in calibration.kinds if calibration else ():
                self.gauge(name, rates.kind, rates.version).set(getattr(rates, field))

    def _count(self, move: PlannedMove, result: MoveResult) -> None:
        best = max(move.gains, key=lambda name: move.gains[name], default="")
        self.counter("moves_total", best, result.result).inc()
        if result.result == "evicted":
            self.counter("planned_gain_total").inc(max(0.0, move.gain))
            if result.code in _REVERTED_CODES:
                self.counter("reverted_moves_total", result.code).inc()

    def count_cycle(self, verdict: str) -> None:
        """Count a cycle by how it ended, or as one that never began."""
        self.counter("cycles_total", verdict).inc()
        if verdict == "failed":
            self.gauge("cycle_failures").inc()
        elif verdict not in {"skipped", "missed"}:
            self.gauge("cycle_failures").set(0)
        if verdict == "good":
            self.gauge("cycle_last_success_timestamp_seconds").set_to_current_time()

    def observe_cause(self, code: str) -> None:
        """Show why the last cycle did no more; "": nothing is to be said."""
        self._clear("cycle_cause")
        if code:
            self.gauge("cycle_cause", code).set(1)

    def count_notification(self, receiver: str, occasion: str, result: str) -> None:
        """Count a message by what became of it."""
        self.counter("notifications_total", receiver, occasion, result).inc()


def _demotions(policy: PolicyResult) -> set[str]:
    """The reasons for which the policy counts as Audit."""
    whys = (policy.brought, policy.selection)
    return {
        why.problem.code
        for why in whys
        if why is not None and why.demotedAt is not None and why.problem is not None
    }

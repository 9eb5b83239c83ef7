"""Our own metrics, for Prometheus to scrape.

Labels are bounded: policies, codes, phases and modes, never a pod or a node. `mode` is that of the
run, `policy_mode` that of a policy. A counter that can count exists from the start with 0, so that
alerts see its first increase.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter
from typing import get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from rescheduler import __version__
from rescheduler.model.moves.assessment import AssessmentState
from rescheduler.model.moves.plan import (
    Mode,
    MoveResult,
    Outcome,
    Plan,
    PlannedMove,
    Report,
    Result,
    plan_in,
)
from rescheduler.model.moves.plan_basis import Calibration
from rescheduler.model.reasons import CATALOG, UNREPLACED

PHASES = ("observe", "measure", "plan", "act")
VERDICTS = ("good", "held", "no-say", "failed", "skipped", "missed")
_GUARDS = tuple(code for code in CATALOG if code.startswith("GRD"))
_REVERTED_CODES = (*UNREPLACED, "ACT012")
_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200)

_LANDINGS = {
    "compared": ("compared", "Replacements whose landing was compared with the prediction."),
    "hitRate": ("hit_ratio", "Share of them that landed where that was predicted at all."),
    "likeliestRate": ("likeliest_ratio", "Share that landed on one of the likeliest nodes."),
    "brier": ("brier_score", "Mean Brier score of the landings: 0 is perfect, 2 the worst."),
    "expectedBrier": ("expected_brier_score", "That score, if the probabilities are right."),
}
"""Field of the report to the name and the meaning of its metric."""

disable_created_metrics()  # type: ignore[no-untyped-call]
"""One series more for each counter and histogram, which nothing that we know of reads."""


class Telemetry:
    """The metrics of one process, in a registry of their own. mode: of the run."""

    def __init__(self, mode: Mode = "Audit") -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Gauge(
            "rescheduler_info",
            "Always 1; the labels hold the mode of the run and the version.",
            ["mode", "version"],
            registry=registry,
        ).labels(mode, __version__).set(1)
        self.phase_seconds = Histogram(
            "rescheduler_cycle_duration_seconds",
            "How long each phase of a cycle took.",
            ["phase"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.cycles = Counter(
            "rescheduler_cycles",
            "Cycles by how they ended; skipped and missed ones never began.",
            ["verdict"],
            registry=registry,
        )
        self.last_success = Gauge(
            "rescheduler_cycle_last_success_timestamp_seconds",
            "When the last good cycle ended, in Unix time; 0 before the first; not shown by an "
            "instance that stands by.",
            registry=None,
        )
        self._leads = False
        self.leading = Gauge(
            "rescheduler_leading",
            "1 while this process runs cycles, 0 while it stands by.",
            registry=registry,
        )
        self.policy_cost = Gauge(
            "rescheduler_policy_cost",
            "Unweighted cost of the placement as it is, in pods.",
            ["policy", "kind", "policy_mode"],
            registry=registry,
        )
        self.idle_gpu_hours = Gauge(
            "rescheduler_idle_gpu_hours",
            "GPU-hours that pods held and did not use, in the time that the policy evaluates.",
            ["policy", "namespace"],
            registry=registry,
        )
        self.policy_evaluated = Gauge(
            "rescheduler_policy_evaluated",
            "1 where the last plan could evaluate the policy, 0 where it could not.",
            ["policy"],
            registry=registry,
        )
        self.score = Gauge(
            "rescheduler_score",
            "Score of the placement as it is, 0 to 100, of what policies with a weight judge; NaN "
            "while one cannot be evaluated or none judges anything, and before the first plan.",
            registry=registry,
        )
        self.score.set(float("nan"))
        self.assessment = Gauge(
            "rescheduler_assessment",
            "1 for what the last plan says of the placement: Healthy, NotJudged, Powerless (no "
            "move may mend what is wrong) or Improvable (it proposes moves); else 0.",
            ["state"],
            registry=registry,
        )
        self.policy_assessment = Gauge(
            "rescheduler_policy_assessment",
            "1 for what the policy says of the placement in the last plan, else 0.",
            ["policy", "state"],
            registry=registry,
        )
        self.candidates = Gauge(
            "rescheduler_candidates", "Pods whose move could lower a cost.", registry=registry
        )
        self.planned = Gauge(
            "rescheduler_planned_moves",
            "Moves in the last plan; Audit where only policies in that mode want them.",
            ["policy_mode"],
            registry=registry,
        )
        self.moves = Counter(
            "rescheduler_moves",
            "Moves that were acted on, by the policy that gained most.",
            ["policy", "outcome"],
            registry=registry,
        )
        self.refused = Gauge(
            "rescheduler_refused",
            "Candidates that the last plan left alone, by reason.",
            ["reason"],
            registry=registry,
        )
        self.gain_predicted = Counter(
            "rescheduler_gain_predicted",
            "Sum of the gains that evicted moves promised.",
            registry=registry,
        )
        self.gain_promised = Counter(
            "rescheduler_predicted_gain",
            "Weighted gain that measured moves promise under the load when they were measured.",
            ["policy"],
            registry=registry,
        )
        self.gain_measured = Counter(
            "rescheduler_measured_gain",
            "Weighted gain measured so far, over all moves that helped.",
            ["policy"],
            registry=registry,
        )
        self.loss_measured = Counter(
            "rescheduler_measured_loss",
            "Cost caused so far, weighted, over all moves that did harm.",
            ["policy"],
            registry=registry,
        )
        self.policy_demoted = Gauge(
            "rescheduler_policy_demoted",
            "1 while the policy counts as Audit because its moves brought too little, or as it "
            "selects what was not shown before.",
            ["policy"],
            registry=registry,
        )
        self.selected = Gauge(
            "rescheduler_policy_selected",
            "How many pods the policy matches and how many nodes it selects, as `resource`.",
            ["policy", "resource"],
            registry=registry,
        )
        self.regrets = Counter(
            "rescheduler_regrets",
            "Evicted pods that came back, did not go, or got no Ready replacement.",
            ["reason"],
            registry=registry,
        )
        self.reading_age = Gauge(
            "rescheduler_reading_age_seconds",
            "Age of the oldest value that was used.",
            ["reading"],
            registry=registry,
        )
        self.reading_coverage = Gauge(
            "rescheduler_reading_coverage_ratio",
            "Share of the expected subjects with a value.",
            ["reading"],
            registry=registry,
        )
        self.landings = {
            field: Gauge(
                f"rescheduler_landing_{name}", text, ["kind", "version"], registry=registry
            )
            for field, (name, text) in _LANDINGS.items()
        }
        self.guard = Gauge(
            "rescheduler_guard_holding",
            "1 while this guard holds all moves.",
            ["guard"],
            registry=registry,
        )
        self.cause = Gauge(
            "rescheduler_cycle_cause",
            "1 for the reason code by which the last cycle ended, as its log line and /history "
            "say it.",
            ["code"],
            registry=registry,
        )
        self.notifications = Counter(
            "rescheduler_notifications",
            "Messages by receiver and occasion: sent, failed, limited or dropped.",
            ["receiver", "occasion", "result"],
            registry=registry,
        )
        self._start_at_zero()

    def _start_at_zero(self) -> None:
        for phase in PHASES:
            self.phase_seconds.labels(phase)
        for verdict in VERDICTS:
            self.cycles.labels(verdict)
        for mode in get_args(Mode):
            self.planned.labels(mode)
        for state in get_args(AssessmentState):
            self.assessment.labels(state)
        for code in _GUARDS:
            self.guard.labels(code)
        for code in _REVERTED_CODES:
            self.regrets.labels(code)

    @contextmanager
    def time_phase(self, phase: str) -> Iterator[None]:
        """Measure a phase, also when it fails."""
        began = perf_counter()
        try:
            yield
        finally:
            self.phase_seconds.labels(phase).observe(perf_counter() - began)

    def observe(self, report: Report) -> None:
        """Take over the figures of a plan or outcome; what it does not name any more goes away."""
        plan = plan_in(report)
        self._observe_policies(plan)
        self._observe_assessments(plan)
        self._observe_gains(plan)
        self._observe_readings(plan)
        self._observe_landings(report.calibration)
        self.score.set(float("nan") if plan.score.before is None else plan.score.before)
        self.candidates.set(plan.totals.candidates)
        for mode in get_args(Mode):
            self.planned.labels(mode).set(sum(move.mode == mode for move in plan.moves))
        self.refused.clear()
        for code, count in plan.totals.refused.items():
            self.refused.labels(code).set(count)
        holding = {guard.code for guard in plan.guards}
        if isinstance(report, Outcome):
            holding.add(report.verdict.code)
        if report.calibration is not None and report.calibration.problem is not None:
            holding.add(report.calibration.problem.code)
        for code in _GUARDS:
            self.guard.labels(code).set(code in holding)
        if isinstance(report, Outcome):
            for move, result in zip(plan.moves, report.moves, strict=True):
                self._count(move, result)

    def _observe_policies(self, plan: Plan) -> None:
        self.policy_cost.clear()
        self.policy_evaluated.clear()
        self.idle_gpu_hours.clear()
        self.selected.clear()
        for policy in plan.policies:
            for resource in ("pods", "nodes"):
                number = getattr(policy.selection, resource, None)
                if number is not None:
                    self.selected.labels(policy.name, resource).set(number)
            for holder in policy.idle:
                self.idle_gpu_hours.labels(policy.name, holder.namespace).inc(holder.hours)
            self.policy_evaluated.labels(policy.name).set(policy.problem is None)
            for outcome in get_args(Result):
                self.moves.labels(policy.name, outcome)
            if policy.problem is None:
                labels = (policy.name, policy.kind, policy.mode)
                self.policy_cost.labels(*labels).set(policy.cost.before)

    def _observe_assessments(self, plan: Plan) -> None:
        self.policy_assessment.clear()
        for state in get_args(AssessmentState):
            whole = plan.assessment
            self.assessment.labels(state).set(whole is not None and whole.state == state)
            for policy in plan.policies:
                own = policy.assessment
                says = own is not None and own.state == state
                self.policy_assessment.labels(policy.name, state).set(says)

    def _observe_gains(self, plan: Plan) -> None:
        """Count the moves that were measured in this very cycle; the others were before."""
        self.policy_demoted.clear()
        weights = {policy.name: policy.weight for policy in plan.policies}
        for policy in plan.policies:
            self.policy_demoted.labels(policy.name).set(bool(policy.demoted_since()))
            for counter in (self.gain_promised, self.gain_measured, self.loss_measured):
                counter.labels(policy.name)
        for move in plan.measuredMoves:
            if move.at != plan.taken:
                continue
            for name in (move.measured.keys() & weights.keys()) - set(move.neutral):
                gain = weights[name] * move.measured[name]
                self.gain_promised.labels(name).inc(max(weights[name] * move.promised[name], 0.0))
                (self.gain_measured if gain > 0 else self.loss_measured).labels(name).inc(abs(gain))

    def _observe_readings(self, plan: Plan) -> None:
        self.reading_age.clear()
        self.reading_coverage.clear()
        for reading in plan.readings:
            self.reading_coverage.labels(reading.name).set(reading.coverage)
            if reading.ageSeconds is not None:
                self.reading_age.labels(reading.name).set(reading.ageSeconds)

    def _observe_landings(self, calibration: Calibration | None) -> None:
        for field, gauge in self.landings.items():
            gauge.clear()
            for rates in calibration.kinds if calibration else ():
                gauge.labels(rates.kind, rates.version).set(getattr(rates, field))

    def _count(self, move: PlannedMove, result: MoveResult) -> None:
        best = max(move.gains, key=lambda name: move.gains[name], default="")
        self.moves.labels(best, result.result).inc()
        if result.result == "evicted":
            self.gain_predicted.inc(max(0.0, move.gain))
            if result.code in _REVERTED_CODES:
                self.regrets.labels(result.code).inc()

    def count_cycle(self, verdict: str) -> None:
        """Count a cycle by how it ended."""
        self.cycles.labels(verdict).inc()
        if verdict == "good":
            self.last_success.set(datetime.now(UTC).timestamp())

    def lead(self) -> None:
        """This process runs cycles from now on."""
        if not self._leads:
            self.registry.register(self.last_success)
        self._leads = True
        self.leading.set(1)

    def stand_by(self) -> None:
        """Another process runs them: that this one has had no good cycle alarms nobody."""
        if self._leads:
            self.registry.unregister(self.last_success)
        self._leads = False
        self.leading.set(0)

    def observe_cause(self, code: str) -> None:
        """Show why the last cycle did no more; "": nothing is to be said."""
        self.cause.clear()
        if code:
            self.cause.labels(code).set(1)

    def count_notification(self, receiver: str, occasion: str, result: str) -> None:
        """Count a message by what became of it."""
        self.notifications.labels(receiver, occasion, result).inc()

    def text(self) -> bytes:
        """What /metrics answers."""
        return generate_latest(self.registry)

"""The cycles of the service: each is run, reported and survived."""

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from rescheduler.acting.run import DONE
from rescheduler.model.errors import ReschedulerError
from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.model.problem import Problem
from rescheduler.model.run_status import SpentBudget
from rescheduler.planning.limits.spent_budgets import spent_budgets
from rescheduler.runtime.cycle import Parts, run_cycle
from rescheduler.runtime.exit_codes import FAULT, NOTED, exit_code
from rescheduler.runtime.logs import logger
from rescheduler.runtime.parts import limits_in
from rescheduler.runtime.report_keeping import ReportKeeper
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.past_cycles import PastCycles
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.settings import Settings

_UNHEALTHY = NOTED - {"STR001", "STR002"}
"""Notes after which the service is not ready. Where steering is known not to act before anything is
sent, the cycle is good: what needs no steering is moved, and the rest stays.
"""


class ServiceCycles:
    """Runs one cycle after the other; a fault of one does not end the process.

    fatal: is called with what the process cannot be trusted after.
    keeper: keeps reports in the cluster.
    last: the newest plan or outcome. past: the last cycles, with those without either.
    """

    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        telemetry: Telemetry,
        health: CycleHealth,
        report: Callable[[Report], None],
        *,
        fatal: Callable[[str], None],
        keeper: ReportKeeper | None = None,
    ) -> None:
        self.last: Report | None = None
        self.past = PastCycles()
        self._began = (datetime.now(UTC), time.monotonic())
        self._parts = parts
        self._settings = settings
        self._telemetry = telemetry
        self._health = health
        self._report = report
        self._fatal = fatal
        self._keeper = keeper

    def run(self) -> None:
        """One cycle. The scheduler would swallow whatever is raised here, so nothing is."""
        # Bound here, in the worker's own thread: context does not cross threads.
        with structlog.contextvars.bound_contextvars(
            cycle_id=secrets.token_hex(4), mode=self._settings.mode
        ):
            self._health.begin()
            self._began = (datetime.now(UTC), time.monotonic())
            problem = "the cycle did not end"
            try:
                problem = self._cycle()
                if problem:
                    logger().warning("not ready", reason=problem)
            except ReschedulerError as error:
                problem = error.message
                logger().error("cycle failed", error=error.message, hint=error.hint)
                self._telemetry.count_cycle("failed")
                self._record_failure(problem)
            except MemoryError:
                self._fatal("out of memory")
            except Exception as error:  # noqa: BLE001 - the next cycle may be better
                problem = f"{type(error).__name__}: {error}"
                logger().exception("cycle failed unexpectedly")
                self._telemetry.count_cycle("failed")
                self._record_failure(problem)
            except BaseException as error:
                self._fatal(f"{type(error).__name__} in a cycle")
                raise
            finally:
                self._health.finish(problem)

    def _record_failure(self, problem: str) -> None:
        started, began = self._began
        seconds, mode = time.monotonic() - began, self._settings.mode
        self.past.fail(problem, started, seconds, mode=mode)
        if self._keeper is not None:
            self._keeper.keep_failure(problem, started, seconds, mode=mode)

    def _cycle(self) -> str:
        """Run it and report it; what is wrong with our sources, taints or rights, or ""."""
        logger().info("cycle begins")
        last = None if self.last is None else plan_in(self.last)
        report = run_cycle(replace(self._parts, last=last), seed=self._settings.seed)
        self.last = report
        started, began = self._began
        seconds = time.monotonic() - began
        self.past.add(report, started, seconds)
        if self._keeper is not None:
            self._keeper.keep_report(report, started, seconds)
        self._telemetry.observe(report)
        self._telemetry.observe_budgets(self._budgets(report))
        cause = self._cause()
        self._telemetry.observe_cause(cause.code)
        verdict = _verdict(report)
        self._telemetry.count_cycle(verdict)
        _log_outcome(report, verdict, cause)
        self._report(report)
        unread = [
            p
            for p in plan_in(report).policies
            if p.problem is not None and p.problem.code == "RDG001"
        ]
        if verdict == "failed" and isinstance(report, Outcome):
            return report.verdict.message
        if unread:
            return f"{unread[0].name}: {unread[0].problem.message}"  # type: ignore[union-attr]
        return next((note.message for note in plan_in(report).notes if note.code in _UNHEALTHY), "")

    def _budgets(self, report: Report) -> list[SpentBudget]:
        """What the limits have left; nothing in Audit, or where our own moves cannot be read."""
        if not isinstance(report, Outcome):
            return []
        history, unread = self._parts.recall()
        if unread:
            return []
        return spent_budgets(
            history, limits_in(report.plan), report.finished, report.plan.countedPods
        )

    def _cause(self) -> Problem:
        """Why the cycle did no more, as its row of the last cycles says it."""
        row = self.past.latest
        return Problem("", "") if row is None else Problem(row.code, row.message)


def _verdict(report: Report) -> str:
    plan = plan_in(report)
    outcome = report if isinstance(report, Outcome) else None
    if outcome is not None and outcome.verdict.code != DONE:
        guard = outcome.verdict.code.startswith("GRD") and outcome.verdict.code != "GRD004"
        return "failed" if exit_code(outcome) == FAULT and not guard else "held"
    if plan.guards:
        return "held"
    return "not-evaluated" if _mute(plan) else "good"


def _mute(plan: Plan) -> bool:
    return any(policy.problem is not None for policy in plan.policies)


def _log_outcome(report: Report, verdict: str, cause: Problem) -> None:
    plan = plan_in(report)
    outcome = report if isinstance(report, Outcome) else None
    log = logger().bind(plan=plan.id)
    for policy in plan.policies:
        if policy.problem is not None:
            problem = policy.problem
            code, message = problem.code, problem.message
            log.warning("not evaluated", policy=policy.name, code=code, message=message)
        if policy.brought is not None and policy.brought.problem is not None:
            problem = policy.brought.problem
            code, message = problem.code, problem.message
            log.warning("moves bring too little", policy=policy.name, code=code, message=message)
        if policy.selection is not None and policy.selection.problem is not None:
            problem = policy.selection.problem
            code, message = problem.code, problem.message
            log.warning("counts as Audit first", policy=policy.name, code=code, message=message)
    for guard in plan.guards:
        log.warning("guard holds", code=guard.code, message=guard.message)
    for number, move in enumerate(plan.moves):
        result: dict[str, str | None] = {}
        if outcome is not None:
            move_result = outcome.moves[number]
            result = {
                "result": move_result.result,
                "code": move_result.code,
                "landed_on": move_result.landedOn,
            }
        log.info(
            "move",
            pod=f"{move.pod.namespace}/{move.pod.name}",
            uid=move.pod.uid,
            node=move.source,
            move_mode=move.mode,
            gain=round(move.gain, 3),
            **result,
        )
    log.info(
        "cycle ends",
        verdict=verdict,
        moves=len(plan.moves),
        refused=sum(plan.totals.refused.values()),
        code=cause.code,
        message=cause.message,
    )

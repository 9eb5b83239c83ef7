"""Carrying out a plan that somebody reviewed."""

from datetime import UTC, datetime

from rescheduler.acting.trail_records import plan_records, record_all
from rescheduler.model.errors import (
    PlanDrifted,
    PlanError,
    PlanExpired,
    PlanForeign,
    PlanNotApproved,
    PlanUnreadable,
    SettingsError,
)
from rescheduler.model.moves.plan import Outcome, Plan, Report
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.cycle import Parts, carry_out
from rescheduler.runtime.cycle_audit import run_audited
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.parts import connection_of, parts_of, policies_in, state_of
from rescheduler.runtime.reading_sources import OPTIONS, reading_sources, unanswered_requests
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.runtime.stored_history import cluster_uid


def check_applicable(report: Report, *, path: str, approved: str | None = None) -> Plan:
    """The plan in the file, unless it can be seen from the file alone that it must not be applied.

    approved: the first digits of the digest of the plan that was approved; None asks for none.

    Raises:
        PlanUnreadable: an outcome. PlanNotApproved: another plan than the approved one.
        PlanError: made from a recording. PlanExpired: too old.
    """
    if isinstance(report, Outcome):
        raise PlanUnreadable(
            f"this is the outcome of plan {report.plan.id}, which was carried out already",
            "make a new plan; `rescheduler render` shows an outcome.",
        )
    plan = report
    if approved is not None and not plan.digest.startswith(approved.lower()):
        raise PlanNotApproved(
            f"{path} holds plan {plan.digest}, and {approved} was approved",
            "have this plan approved, or apply the file that was.",
        )
    if plan.recorded:
        raise PlanError(
            f"plan {plan.id} was made from a recorded snapshot, not from a live cluster",
            "make a plan without --snapshot.",
        )
    if datetime.now(UTC) >= plan.expires:
        raise PlanExpired(
            f"plan {plan.id} expired at {plan.expires:%Y-%m-%d %H:%M:%S} UTC",
            "make a new plan; `planExpiry` of the Limits sets how long one may be applied.",
        )
    return plan


def apply_plan(plan: Plan, settings: Settings) -> tuple[Outcome, int]:
    """Carry the plan out; answers the outcome and the exit code, 5 if all moves had drifted.

    Raises:
        PlanForeign: it is for another cluster; nothing was written there.
        ReschedulerError: it cannot be carried out.
    """
    policies = policies_in(plan)
    connection = connection_of(settings)
    if connection is None:
        raise SettingsError("a plan cannot be applied to a recording", "leave out --snapshot.")
    uid = cluster_uid(connection)
    if uid != plan.cluster.uid:
        raise PlanForeign(
            f"plan {plan.id} was made for cluster {plan.cluster.uid} ({plan.cluster.name}); "
            f"{connection.name} is {uid}",
            "choose the right cluster with --kubeconfig or --context.",
        )
    if unanswered_requests(reading_sources(settings), policies.requests()):
        raise SettingsError(
            "the plan's policies need readings to check each move again",
            f"add {OPTIONS}.",
        )
    stop = Stop()
    state = state_of(connection, stop)
    parts = parts_of(
        settings, connection, state=state, stop=stop, policies=lambda: policies, attended=True
    )
    stop.on_signals()
    outcome = run_audited(
        parts.record,
        "Enforce",
        parts.policies,
        lambda policy_set: _carried_out(parts, plan, policy_set),
        _code,
    )
    return outcome, _code(outcome)


def _carried_out(parts: Parts, plan: Plan, policies: PolicySet) -> Outcome:
    if parts.actor is None:
        raise PlanDrifted("nothing may act here")
    record_all(parts.record, plan_records(plan))
    return carry_out(parts, plan, policies, parts.actor(policies))


def _code(outcome: Outcome) -> int:
    return exit_code(outcome, applying=True)

"""The alerts: what they look for, and what they say in plain words.

Each is by `cluster`, which is empty where a Prometheus has one cluster only. What shows the last
plan is not there on a standby, so that `max` over all instances is what the one shows that leads.
"""

from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

from rescheduler.model.reasons import CATALOG

PERSON_MUST_LOOK = ("GRD003", "GRD004", "GRD007", "GRD009", "GRD010", "GRD011", "GRD012")
"""Guards that end only when a person has found out why."""
PASSING = ("GRD001", "GRD002", "GRD006", "GRD008")
"""Guards that the cluster or people end; those that hold for long were forgotten."""
NO_ALERT = ("GRD005",)
"""Another instance holds the lock: that one is watched."""
HELD_PODS = ("ELG038", "ELG039")
"""Why the pods of one namespace or kind stay until a person has looked."""
DEAD_STEERING = ("STR001", "STR002", "STR005", "STR007", "STR014")
"""Notes of a plan in which steering does not do what the Limits or policies ask for."""

IDLE_BUDGET = "rescheduler:idle_gpu_hours_per_day:budget"
"""The recording rule that operators patch. It is the first rule of the first group."""
IDLE_BUDGET_HOURS = 480
"""20 GPUs all day."""

_CRONJOB = '{namespace="rescheduler", cronjob="rescheduler"}'
_LAST_SUCCESS = f"""max by (cluster) (
              kube_cronjob_status_last_successful_time{_CRONJOB}
              or kube_cronjob_created{_CRONJOB}
            )"""
"""Of a CronJob that never succeeded: its creation."""

_WHERE = "{{ with $labels.cluster }} in cluster {{ . }}{{ end }}"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. wait: its `for`. quiet: why some of its series are not there where all is well."""

    name: str
    query: str
    wait: str
    severity: Literal["warning", "info"]
    summary: str
    description: str
    quiet: str = ""

    @property
    def expr(self) -> str:
        """The query, as it stands in the rule."""
        return dedent(self.query).strip()


def _any(codes: tuple[str, ...]) -> str:
    assert set(codes) <= CATALOG.keys()
    return "|".join(codes)


ALERTS = (
    Alert(
        "ReschedulerAbsent",
        """
        absent(rescheduler_info)
          unless on () kube_cronjob_info{namespace="rescheduler", cronjob="rescheduler"}
        or
        group by (cluster) (max_over_time(rescheduler_info[7d]))
          unless group by (cluster) (rescheduler_info)
        """,
        "15m",
        "warning",
        f"No rescheduler is scraped{_WHERE}.",
        "Prometheus has had no metrics of the rescheduler for 15 minutes. Either no pod "
        "of it runs, or "
        "Prometheus cannot reach it. Nothing is moved if no pod runs.",
        quiet="kube_cronjob_info is there only with a CronJob and kube-state-metrics",
    ),
    Alert(
        "ReschedulerNotRunning",
        """
        max by (cluster) (rescheduler_leading) == 0
        or
        max by (cluster) (time() - rescheduler_cycle_next_timestamp_seconds) > 3600
        or
        max by (cluster) (changes(rescheduler_start_timestamp_seconds[1h])) > 3
        """,
        "15m",
        "warning",
        f"The rescheduler runs no cycles{_WHERE}.",
        "No instance runs cycles, a cycle is an hour late, or the process has restarted "
        "more than 3 times "
        "in an hour. Nothing is moved meanwhile.",
    ),
    Alert(
        "ReschedulerCyclesFail",
        "max by (cluster) (rescheduler_cycle_failures) >= 3",
        "5m",
        "warning",
        f"Each of the last 3 cycles of the rescheduler failed{_WHERE}.",
        "A cycle fails if the cluster, the metrics, the state or the audit trail cannot "
        "be read or written. "
        "The log says why.",
    ),
    Alert(
        "ReschedulerCronJobFails",
        f"""
        (
          time() > max by (cluster) (kube_cronjob_next_schedule_time{_CRONJOB})
          or
          max by (cluster) (kube_cronjob_status_last_schedule_time{_CRONJOB})
            > {_LAST_SUCCESS}
            and time() - {_LAST_SUCCESS} > 3600
        )
        unless on (cluster) kube_cronjob_spec_suspend{_CRONJOB} == 1
        """,
        "1h",
        "warning",
        f"A run of the CronJob rescheduler was due an hour ago, and none has succeeded{_WHERE}.",
        "Either no Job was made, or its run has failed or hangs. A run succeeds if it made its "
        "plan and carried it out, or was held on purpose. Needs kube-state-metrics.",
        quiet="kube_cronjob_* are there only with a CronJob and kube-state-metrics",
    ),
    Alert(
        "ReschedulerHolds",
        f"""
        max by (cluster, guard) (
          rescheduler_guard_holding{{guard=~"{_any(PERSON_MUST_LOOK)}"}}
        ) == 1
        """,
        "30m",
        "warning",
        f"A guard ({{{{ $labels.guard }}}}) holds all moves until a person has looked{_WHERE}.",
        "Nothing is moved until the cause is found. The runbook says what each guard wants.",
    ),
    Alert(
        "ReschedulerHoldsForLong",
        f"""
        max by (cluster, guard) (
          rescheduler_guard_holding{{guard=~"{_any(PASSING)}"}}
        ) == 1
        """,
        "12h",
        "info",
        f"A guard ({{{{ $labels.guard }}}}) has held all moves for 12 hours{_WHERE}.",
        "This guard ends by itself, or when people resume. After 12 hours it was perhaps "
        "forgotten. "
        "`rescheduler status` says what holds.",
    ),
    Alert(
        "ReschedulerHoldsPods",
        f"""
        max by (cluster, reason) (rescheduler_refused{{reason=~"{_any(HELD_PODS)}"}}) > 0
        """,
        "1h",
        "warning",
        f"Some pods are held until a person has looked ({{{{ $labels.reason }}}}){_WHERE}.",
        "The pods of a namespace (ELG038) or of a kind of controller (ELG039) are not "
        "moved. Other pods are.",
        quiet="a refusal is shown only while pods are refused for it",
    ),
    Alert(
        "ReschedulerReadingsMissing",
        """
        max by (cluster, reading, reason) (rescheduler_reading_problem{reason!="RDG017"}) == 1
        or
        max by (cluster, reading, reason) (
          rescheduler_reading_problem{reason="RDG017"}
          and on (cluster, job, instance) rescheduler_info{mode="Enforce"}
        ) == 1
        """,
        "30m",
        "warning",
        f"Reading {{{{ $labels.reading }}}} cannot be used ({{{{ $labels.reason }}}}){_WHERE}.",
        "Policies that need this reading are not evaluated, and nothing is moved for their sake.",
        quiet="a reading without a problem shows none",
    ),
    Alert(
        "ReschedulerMovesDoNotHelp",
        """
        max by (cluster, policy) (rescheduler_policy_demoted{reason="MSR001"}) == 1
        or
        (
          sum by (cluster, policy) (increase(rescheduler_measured_gain_total[1d]))
          - sum by (cluster, policy) (increase(rescheduler_measured_loss_total[1d]))
          < 0.5 * sum by (cluster, policy) (increase(rescheduler_predicted_gain_total[1d]))
        )
        and sum by (cluster, policy) (increase(rescheduler_predicted_gain_total[1d])) > 5
        """,
        "15m",
        "warning",
        f"Moves of policy {{{{ $labels.policy }}}} do not help{_WHERE}.",
        "Measured after the moves, the policy gained less than half of what it promised. "
        "If it counts as "
        "Audit (MSR001), it moves nothing more by itself.",
    ),
    Alert(
        "ReschedulerPodsComeBack",
        """
        sum by (cluster) (increase(rescheduler_reverted_moves_total{reason="ACT012"}[1d])) > 2.5
        and
        sum by (cluster) (increase(rescheduler_reverted_moves_total{reason="ACT012"}[1d]))
          > 0.1 * sum by (cluster) (increase(rescheduler_moves_total{outcome="evicted"}[1d]))
        """,
        "15m",
        "warning",
        f"Evicted pods come back to the node that they left{_WHERE}.",
        "At least 3 pods in a day, and more than 10 % of all moves. Their restarts were in vain.",
    ),
    Alert(
        "ReschedulerBudgetExhausted",
        """
        avg_over_time((
          max by (cluster, limit) (rescheduler_budget_remaining_moves) == bool 0
        )[1d:5m]) > 0.95
        and
        count_over_time((
          max by (cluster, limit) (rescheduler_budget_remaining_moves)
        )[1d:5m]) > 250
        and on (cluster) max by (cluster) (rescheduler_candidates) > 0
        """,
        "15m",
        "info",
        f"Limit {{{{ $labels.limit }}}} was used up for a whole day{_WHERE}.",
        "More pods are worth moving than this limit allows. Either the limit is too "
        "small for this cluster, "
        "or something makes pods wrong as fast as they are moved.",
    ),
    Alert(
        "ReschedulerSteeringDead",
        f"""
        max by (cluster, reason) (rescheduler_note{{reason=~"{_any(DEAD_STEERING)}"}}) == 1
        """,
        "15m",
        "warning",
        f"Steering does not work ({{{{ $labels.reason }}}}){_WHERE}.",
        "The Limits or a policy ask for steering, and replacements are not steered. They go where "
        "kube-scheduler puts them, or are not moved.",
        quiet="a plan without notes shows none",
    ),
    Alert(
        "ReschedulerIdleGPUs",
        f"""
        sum by (cluster, policy) (sum_over_time((
          max by (cluster, policy, namespace) (rescheduler_idle_gpus)
        )[1d:5m])) / 12
        > on () group_left () max({IDLE_BUDGET})
        """,
        "1h",
        "info",
        f"Pods hold GPUs and do not use them: {{{{ $value | humanize }}}} GPU-hours a day{_WHERE}.",
        "That is more than the budget. The report and the dashboard name the namespaces. "
        "Nothing is moved "
        "for this: owners have to give the GPUs back.",
        quiet="idle GPUs are shown only by a policy of kind IdleGPUs that finds some",
    ),
)
"""Every alert, in the order of its documentation."""

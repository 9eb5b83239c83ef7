"""The catalogue of our own metrics: what is exposed, documented, alerted on and shown.

Names follow Prometheus' convention: the unit is in the name, and what only grows ends in `_total`.
Each label has few values, never a pod or a node. A metric without a row here cannot be exposed.
"""

from dataclasses import dataclass
from typing import Literal

MetricType = Literal["counter", "gauge", "histogram"]

_CYCLE = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200)
_REQUEST = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)

MOST_NAMESPACES = 50
"""Namespaces that one policy's idle GPUs are shown of; the rest is summed up."""

OTHER_NAMESPACES = "(others)"
"""Stands for them in the label `namespace`; no namespace can have this name."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    name: as it is exposed. text: its help. unit: of its values. buckets: of a histogram.
    follows_plan: it shows the last plan, so a process that runs no cycles shows nothing of it.
    server: what exposes it: the command of `rescheduler`.
    """

    name: str
    type: MetricType
    text: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()
    follows_plan: bool = False
    server: Literal["run", "webhook", "extender"] = "run"


def _gauge(name: str, text: str, *labels: str, unit: str = "", plan: bool = False) -> Metric:
    return Metric(f"rescheduler_{name}", "gauge", text, labels, unit, follows_plan=plan)


def _of_plan(name: str, text: str, *labels: str, unit: str = "") -> Metric:
    return _gauge(name, text, *labels, unit=unit, plan=True)


def _counter(name: str, text: str, *labels: str, unit: str = "") -> Metric:
    return Metric(f"rescheduler_{name}_total", "counter", text, labels, unit)


def _requests(server: Literal["webhook", "extender"]) -> Metric:
    return Metric(
        f"rescheduler_{server}_request_seconds",
        "histogram",
        "How long answers took.",
        ("path", "status"),
        "seconds",
        _REQUEST,
        server=server,
    )


METRICS = (
    _gauge("info", "Always 1; the labels hold the mode of the run and the version.", "mode", "version"),
    _gauge("start_timestamp_seconds", "When this process started, in Unix time; each restart changes it.", unit="seconds"),
    _gauge("leading", "1 while this process runs cycles, 0 while it stands by."),
    Metric("rescheduler_cycle_duration_seconds", "histogram", "How long each phase of a cycle took.", ("phase",), "seconds", _CYCLE),
    _counter("cycles", "Cycles by how they ended; skipped and missed ones never began.", "verdict"),
    _gauge("cycle_failures", "Failed cycles in a row; 0 after one that ended otherwise."),
    _gauge("cycle_last_success_timestamp_seconds", "When the last good cycle ended, in Unix time; NaN before the first, and while this process stands by.", unit="seconds", plan=True),
    _of_plan("cycle_next_timestamp_seconds", "When a cycle is due, in Unix time; of the past while it runs, NaN if none is due.", unit="seconds"),
    _gauge("cycle_cause", "1 for the reason code by which the last cycle ended, as its log line and /history say it.", "code", plan=True),
    _of_plan("guard_holding", "1 while this guard holds all moves.", "guard"),
    _of_plan("note", "1 for each reason code that the last plan notes about the cluster, its data or steering.", "reason"),
    _of_plan("score", "Score of the placement as it is, 0 to 100, of what policies with a weight judge; NaN while one cannot be evaluated or none judges anything, and before the first plan."),
    _of_plan("assessment", "1 for what the last plan says of the placement: Healthy, NotJudged, Powerless (no move may mend what is wrong) or Improvable (it proposes moves); else 0.", "state"),
    _of_plan("candidates", "Pods whose move could lower a cost.", unit="pods"),
    _of_plan("planned_moves", "Moves in the last plan; Audit where only policies in that mode want them.", "policy_mode", unit="moves"),
    _of_plan("unsteered_moves", "Moves of the last plan that steering leaves out, by reason; empty: steering would gain nothing.", "reason", unit="moves"),
    _of_plan("refused", "Candidates that the last plan left alone.", "reason", unit="pods"),
    _of_plan("budget_moves", "Moves that a limit on all moves allows; none for a percentage of pods that nobody counted.", "limit", unit="moves"),
    _of_plan("budget_remaining_moves", "How many of them are left after the last cycle in Enforce.", "limit", unit="moves"),
    _of_plan("policy_cost", "Unweighted cost of the placement as it is.", "policy", "kind", "policy_mode", unit="pods"),
    _of_plan("policy_evaluated", "1 where the last plan could evaluate the policy, 0 where it could not.", "policy"),
    _of_plan("policy_assessment", "1 for what the policy says of the placement in the last plan, else 0.", "policy", "state"),
    _of_plan("policy_demoted", "1 while the policy counts as Audit: its moves brought too little (MSR001), or it selects what was not shown before (SEL001, SEL002).", "policy", "reason"),
    _of_plan("policy_selected", "How many pods the policy matches and how many nodes it selects, as `resource`.", "policy", "resource"),
    _of_plan("idle_gpus", f"GPUs that pods hold and do not use, on average over the time that the policy evaluates; times 24 it is GPU-hours a day. The {MOST_NAMESPACES} namespaces with most, the others as one.", "policy", "namespace", unit="GPUs"),
    _counter("moves", "Moves that were acted on, by the policy that gained most.", "policy", "outcome", unit="moves"),
    _counter("reverted_moves", "Evicted pods that came back to the node that they left (ACT012), did not go, or got no Ready replacement.", "reason", unit="moves"),
    _counter("planned_gain", "Weighted gain that evicted moves were planned for.", unit="pods"),
    _counter("predicted_gain", "Weighted gain that measured moves promise under the load when they were measured.", "policy", unit="pods"),
    _counter("measured_gain", "Weighted gain measured so far, over all moves that helped.", "policy", unit="pods"),
    _counter("measured_loss", "Cost caused so far, weighted, over all moves that did harm.", "policy", unit="pods"),
    _of_plan("reading_age_seconds", "Age of the oldest value that was used.", "reading", unit="seconds"),
    _of_plan("reading_coverage_ratio", "Share of the expected nodes or pods with a value.", "reading", unit="0 to 1"),
    _of_plan("reading_problem", "1 for the reason why nothing rests on the reading; RDG017: its exporter was never seen.", "reading", "reason"),
    _of_plan("landing_compared", "Replacements whose landing was compared with the prediction.", "kind", "version", unit="pods"),
    _of_plan("landing_hit_ratio", "Share of them that landed where that was predicted at all.", "kind", "version", unit="0 to 1"),
    _of_plan("landing_likeliest_ratio", "Share that landed on one of the likeliest nodes.", "kind", "version", unit="0 to 1"),
    _of_plan("landing_brier_score", "Mean Brier score of the landings: 0 is perfect, 2 the worst.", "kind", "version"),
    _of_plan("landing_expected_brier_score", "That score, if the probabilities are right.", "kind", "version"),
    _counter("notifications", "Messages by receiver and occasion: sent, failed, limited or dropped.", "receiver", "occasion", "result", unit="messages"),
    _requests("webhook"),
    _requests("extender"),
)  # fmt: skip
"""Every metric, in the order of its documentation."""

LABELS = {
    "code": "a reason code",
    "guard": "a reason code of a guard (GRD)",
    "kind": "a policy's kind; of landings a controller's",
    "limit": "a field of the Limits",
    "mode": "Audit or Enforce, of the run",
    "namespace": "a namespace with idle GPUs",
    "occasion": "an occasion of Notifications",
    "outcome": "evicted, refused, unknown or skipped",
    "path": "a path of the server",
    "phase": "observe, measure, plan or act",
    "policy": "a policy's name",
    "policy_mode": "Audit or Enforce, of the policy",
    "reading": "a reading's name",
    "reason": "a reason code",
    "receiver": "a receiver's name",
    "resource": "pods or nodes",
    "result": "sent, failed, limited or dropped",
    "state": "Healthy, NotJudged, Powerless or Improvable",
    "status": "an HTTP status",
    "verdict": "good, held, not-evaluated, failed, skipped or missed",
    "version": "a version of the rescheduler; of landings the scheduler's",
}
"""What the values of each label are. All are bounded by the policies, the reason codes, or this program."""

"""The scheduler's prediction for one pod: filters, scores and landing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.explanation import FilterResult, NodeScore, Reason
from rescheduler.model.moves.plan import LandingShare
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.references import landing_shares
from rescheduler.scheduler.rejections import Rejection, event_text
from rescheduler.scheduler.verdicts import Verdicts

BEST_NODES = 8
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class PodPrediction:
    """What the scheduler would do with one pod in the working copy as it is.

    event: the text of the event it would write, "" where a node is feasible. reasons: why nodes
    are rejected, the most frequent first. refusal: why none of it can be predicted.
    """

    state: Literal["overlap", "gone"]
    feasible: int
    filters: list[FilterResult]
    scores: list[NodeScore]
    landing: list[LandingShare]
    returns: float
    unschedulable: float
    event: str
    reasons: list[Reason]
    refusal: Problem | None


def place(copy: WorkingCopy, pod: int) -> PodPrediction:
    """Ask the model of the scheduler about this pod, bound or Pending."""
    snapshot = copy.snapshot
    verdicts = copy.scheduler.verdicts(pod)
    rejected = copy.scheduler.rejections(pod)
    landing = verdicts.landing
    refusal = landing.refusal
    feasible = int(np.count_nonzero(verdicts.feasible))
    stuck = refusal is None and feasible == 0
    return PodPrediction(
        state=verdicts.state,
        feasible=feasible,
        filters=_filters(snapshot, verdicts, rejected),
        scores=_scores(snapshot, verdicts, int(snapshot.pod_node[pod])),
        landing=landing_shares(snapshot, landing),
        returns=landing.returns,
        unschedulable=landing.unschedulable,
        event=event_text(rejected, len(snapshot.nodes)) if stuck else "",
        reasons=_reasons(snapshot, rejected),
        refusal=None if refusal is None else refusal,
    )


def _filters(
    snapshot: Snapshot, verdicts: Verdicts, rejected: Iterable[Rejection]
) -> list[FilterResult]:
    reasons: dict[str, dict[str, int]] = {}
    for one in rejected:
        reasons.setdefault(one.plugin, {})[one.reason] = int(np.count_nonzero(one.nodes))
    answer = []
    for verdict in verdicts.filters:
        shown = verdict.first if verdict.first.any() else verdict.rejects
        example = snapshot.nodes[int(shown.argmax())].metadata.name if shown.any() else ""
        answer.append(
            FilterResult(
                plugin=verdict.name,
                rejects=int(np.count_nonzero(verdict.rejects)),
                first=int(np.count_nonzero(verdict.first)),
                example=example,
                reasons=reasons.get(verdict.name, {}),
            )
        )
    return answer


def _scores(snapshot: Snapshot, verdicts: Verdicts, source: int) -> list[NodeScore]:
    """The best nodes, and the pod's own where it is feasible; equal ones by their chance."""
    landing = verdicts.landing
    nodes = np.flatnonzero(verdicts.feasible)
    chance = np.zeros(len(snapshot.nodes))
    chance[landing.nodes] = landing.probabilities
    ranked = nodes[np.lexsort((nodes, -chance[nodes], -verdicts.total[nodes]))]
    shown = ranked[:BEST_NODES].tolist()
    if source >= 0 and verdicts.feasible[source] and source not in shown:
        shown.append(source)
    return [
        NodeScore(
            node=snapshot.nodes[node].metadata.name,
            total=int(verdicts.total[node]),
            points={score.name: int(score.points[node]) for score in verdicts.scores},
            probability=float(chance[node]),
        )
        for node in shown
    ]


def _reasons(snapshot: Snapshot, rejected: Iterable[Rejection]) -> list[Reason]:
    reasons = [
        Reason(
            reason=rejection.reason,
            plugin=rejection.plugin,
            count=int(np.count_nonzero(rejection.nodes)),
            nodes=[
                snapshot.nodes[node].metadata.name
                for node in np.flatnonzero(rejection.nodes)[:EXAMPLES].tolist()
            ],
        )
        for rejection in rejected
    ]
    return sorted(reasons, key=lambda reason: (-reason.count, reason.reason))

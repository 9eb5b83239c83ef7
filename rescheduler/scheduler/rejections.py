"""Why nodes are rejected, in kube-scheduler's own words, as in its FailedScheduling events."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.plugin import Plugin, Replacement
from rescheduler.scheduler.verdicts import FilterVerdict

_UNSCANNED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""Said of the nodes that are not among those that the pod names. Source: schedule_one.go."""


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """One reason and the nodes that it is given for.

    nodes: (nodes,) a node may have several reasons, all of the first plugin that rejects it.
    """

    plugin: str
    reason: str
    nodes: BoolArray


def rejections(
    pod: Replacement,
    plugins: Sequence[Plugin],
    filters: Sequence[FilterVerdict],
    candidates: IntArray | None,
) -> tuple[Rejection, ...]:
    """The reasons of every rejected node, in the state at the time of the call.

    filters: what each said, in the order in which they run. candidates: as in `Shape`.
    """
    by_name = {plugin.name: plugin for plugin in plugins}
    answer: list[Rejection] = []
    scanned: BoolArray | None = None
    if candidates is not None:
        scanned = np.zeros(sum(len(verdict.first) for verdict in filters[:1]), dtype=np.bool_)
        scanned[candidates] = True
        answer.append(Rejection("NodeAffinity", _UNSCANNED, ~scanned))
    for verdict in filters:
        first = verdict.first if scanned is None else verdict.first & scanned
        plugin = by_name[verdict.name]
        said = plugin.reasons(pod)
        rest = first.copy()
        for reason, nodes in said.items():
            rest &= ~nodes
            answer.append(Rejection(verdict.name, reason, first & nodes))
        usual = plugin.rejection or f"node(s) were rejected by {verdict.name}"
        answer.append(Rejection(verdict.name, usual, rest))
    return tuple(rejection for rejection in answer if rejection.nodes.any())


def event_text(all_rejections: Iterable[Rejection], count: int) -> str:
    """The beginning of the FailedScheduling event's text, before the part on preemption.

    count: how many nodes there are. Source: FitError.Error in pkg/scheduler/framework/types.go.
    """
    reasons: Counter[str] = Counter()
    for rejection in all_rejections:
        reasons[rejection.reason] += int(np.count_nonzero(rejection.nodes))
    said = sorted(f"{number} {reason}" for reason, number in reasons.items())
    return f"0/{count} nodes are available: {', '.join(said)}."

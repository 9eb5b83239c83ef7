"""The extender's answers: by the table of replacements, then by what the policies say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from rescheduler.kube.objects import ObjectMeta
from rescheduler.kube.pods.steered_affinity import count_preferred
from rescheduler.model.moves.steering_entry import SteeringEntry
from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.extender.protocol import (
    MAX_PRIORITY,
    ExtenderArgs,
    ExtenderFilterResult,
    HostPriority,
    filter_result,
    names,
)
from rescheduler.runtime.servers.open_entries import OpenEntries

NEUTRAL = 0
"""The score of every node where nothing is known: it changes nobody's order."""


@dataclass(frozen=True, slots=True)
class LatestAdvice:
    """What the policies said last, and the place of each node there; hostname labels by name."""

    advice: Advice
    hostnames: dict[str, str] = field(default_factory=dict)
    index: dict[str, int] = field(default_factory=dict)


class Answers:
    """Answers filter and prioritize calls. `known` may be replaced at any time."""

    def __init__(self, entries: OpenEntries, now: Callable[[], datetime]) -> None:
        """now: the API server's time."""
        self._entries = entries
        self._now = now
        self.known: LatestAdvice | None = None
        self.asked: datetime | None = None
        """When a scheduler last requested scores: only by scores can nodes be preferred."""

    def filter(self, args: ExtenderArgs) -> ExtenderFilterResult:
        """All nodes, unless the pod's replacement of another must go to some of them (Require)."""
        node_names = names(args)
        entry = self._entry(args, node_names)
        if entry is None or entry.strength != "Require":
            return filter_result(args, node_names, {})
        is_steered = self._hostname_mask(node_names, entry.hostnames)
        if not is_steered.any():
            # Who leaves no node to the scheduler has it look for pods to preempt.
            return filter_result(args, node_names, {})
        why = f"the rescheduler's plan {entry.plan[:12]} puts it on another node"
        return filter_result(
            args,
            node_names,
            {
                name: why
                for name, is_named in zip(node_names, is_steered, strict=True)
                if not is_named
            },
        )

    def prioritize(self, args: ExtenderArgs) -> list[HostPriority]:
        """A score for each node: the more, the less it costs; all alike where nothing is known.

        Where the table names nodes for this pod, those that are preferred of them get the highest
        score, and the others none: with weight 2 in the scheduler that is what the preferred node
        affinity would give.
        """
        node_names = names(args)
        if self._real(args, node_names):
            self.asked = self._now()
        scores = self._scores(args.Pod.metadata, node_names)
        entry = self._entry(args, node_names)
        if entry is not None:
            count = count_preferred(len(entry.hostnames), require=entry.strength == "Require")
            is_steered = self._hostname_mask(node_names, entry.hostnames[:count])
            scores = np.where(is_steered, MAX_PRIORITY, 0) if is_steered.any() else scores
        return [
            HostPriority(name, score)
            for name, score in zip(node_names, scores.tolist(), strict=True)
        ]

    def _real(self, args: ExtenderArgs, node_names: Sequence[str]) -> bool:
        """Whether it may be a scheduler that places a pod of this cluster: it names its nodes."""
        data = self.known
        return (
            data is not None
            and bool(args.Pod.metadata.uid)
            and not data.index.keys().isdisjoint(node_names)
        )

    def _entry(self, args: ExtenderArgs, node_names: Sequence[str]) -> SteeringEntry | None:
        metadata = args.Pod.metadata
        if not self._real(args, node_names):
            return None
        return self._entries.take(metadata, metadata.uid, namespace=metadata.namespace)

    def _hostname_mask(
        self, node_names: Sequence[str], hostnames: Sequence[str]
    ) -> npt.NDArray[np.bool_]:
        labels = {} if self.known is None else self.known.hostnames
        wanted = set(hostnames)
        return np.fromiter(
            (labels.get(node, node) in wanted for node in node_names),
            dtype=np.bool_,
            count=len(node_names),
        )

    def _scores(self, metadata: ObjectMeta, node_names: Sequence[str]) -> npt.NDArray[np.int64]:
        """0 to `MAX_PRIORITY`, spread over the costs of the nodes in the request."""
        neutral = np.full(len(node_names), NEUTRAL, dtype=np.int64)
        data, owner = self.known, metadata.controller
        if data is None or owner is None:
            return neutral
        row = data.advice.rows.get(owner.uid)
        if row is None:
            return neutral
        places = np.fromiter(
            (data.index.get(node, -1) for node in node_names), dtype=np.int64, count=len(node_names)
        )
        there = places >= 0
        if not there.any():
            return neutral
        costs = np.where(there, data.advice.costs[row][places], 0).astype(np.int64)
        best, worst = int(costs[there].min()), int(costs[there].max())
        if worst == best:
            return neutral
        scores = (worst - costs) * MAX_PRIORITY // (worst - best)
        # A node that came since is neither praised nor blamed.
        return np.where(there, scores, int(np.median(scores[there])))


def known_of(advice: Advice, hostnames: dict[str, str]) -> LatestAdvice:
    """The advice, ready for requests. hostnames: `kubernetes.io/hostname` by node."""
    return LatestAdvice(advice, hostnames, {name: place for place, name in enumerate(advice.nodes)})

"""The extender's answers: by the table of replacements, then by what the policies say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from rescheduler.kube.objects import ObjectMeta
from rescheduler.kube.pods.steered import count_preferred
from rescheduler.model.moves.steering import Entry
from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.entries import Entries
from rescheduler.runtime.servers.extender.protocol import (
    MAX_PRIORITY,
    ExtenderArgs,
    FilterResult,
    HostPriority,
    kept,
    names,
)

NEUTRAL = 0
"""The score of every node where nothing is known: it changes nobody's order."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the policies said last, and the place of each node there; hostname labels by name."""

    advice: Advice
    hostnames: dict[str, str] = field(default_factory=dict)
    index: dict[str, int] = field(default_factory=dict)


class Answers:
    """Answers filter and prioritize calls. `known` may be replaced at any time."""

    def __init__(self, entries: Entries, now: Callable[[], datetime]) -> None:
        """now: the API server's time."""
        self._entries = entries
        self._now = now
        self.known: Known | None = None
        self.asked: datetime | None = None
        """When a scheduler asked for scores last: without them it could not be told to prefer."""

    def filter(self, args: ExtenderArgs) -> FilterResult:
        """All nodes, unless the pod's replacement of another must go to some of them (Require)."""
        asked = names(args)
        entry = self._entry(args, asked)
        if entry is None or entry.strength != "Require":
            return kept(args, asked, {})
        told = self._named(asked, entry.hostnames)
        if not told.any():
            # Who leaves no node to the scheduler has it look for pods to preempt.
            return kept(args, asked, {})
        why = f"the rescheduler's plan {entry.plan[:12]} puts it on another node"
        return kept(
            args, asked, {name: why for name, each in zip(asked, told, strict=True) if not each}
        )

    def prioritize(self, args: ExtenderArgs) -> list[HostPriority]:
        """A score for each node: the more, the less it costs; all alike where nothing is known.

        Where the table names nodes for this pod, those that are preferred of them get the highest
        score, and the others none: with weight 2 in the scheduler that is what the preferred node
        affinity would give.
        """
        asked = names(args)
        if self._real(args, asked):
            self.asked = self._now()
        scores = self._scores(args.Pod.metadata, asked)
        entry = self._entry(args, asked)
        if entry is not None:
            count = count_preferred(len(entry.hostnames), require=entry.strength == "Require")
            told = self._named(asked, entry.hostnames[:count])
            scores = np.where(told, MAX_PRIORITY, 0) if told.any() else scores
        return [
            HostPriority(name, score) for name, score in zip(asked, scores.tolist(), strict=True)
        ]

    def _real(self, args: ExtenderArgs, asked: Sequence[str]) -> bool:
        """Whether it may be a scheduler that places a pod of this cluster: it names its nodes."""
        known = self.known
        return (
            known is not None
            and bool(args.Pod.metadata.uid)
            and not known.index.keys().isdisjoint(asked)
        )

    def _entry(self, args: ExtenderArgs, asked: Sequence[str]) -> Entry | None:
        metadata = args.Pod.metadata
        if not self._real(args, asked):
            return None
        return self._entries.take(metadata, metadata.uid, namespace=metadata.namespace)

    def _named(self, asked: Sequence[str], hostnames: Sequence[str]) -> npt.NDArray[np.bool_]:
        labels = {} if self.known is None else self.known.hostnames
        wanted = set(hostnames)
        return np.fromiter(
            (labels.get(each, each) in wanted for each in asked), dtype=np.bool_, count=len(asked)
        )

    def _scores(self, metadata: ObjectMeta, asked: Sequence[str]) -> npt.NDArray[np.int64]:
        """0 to `MAX_PRIORITY`, spread over the costs of the nodes that are asked about."""
        neutral = np.full(len(asked), NEUTRAL, dtype=np.int64)
        known, owner = self.known, metadata.controller
        if known is None or owner is None:
            return neutral
        row = known.advice.rows.get(owner.uid)
        if row is None:
            return neutral
        places = np.fromiter(
            (known.index.get(each, -1) for each in asked), dtype=np.int64, count=len(asked)
        )
        there = places >= 0
        if not there.any():
            return neutral
        costs = np.where(there, known.advice.costs[row][places], 0).astype(np.int64)
        best, worst = int(costs[there].min()), int(costs[there].max())
        if worst == best:
            return neutral
        scores = (worst - costs) * MAX_PRIORITY // (worst - best)
        # A node that came since is neither praised nor blamed.
        return np.where(there, scores, int(np.median(scores[there])))


def known_of(advice: Advice, hostnames: dict[str, str]) -> Known:
    """What the policies said, ready to be asked. hostnames: `kubernetes.io/hostname` by node."""
    return Known(advice, hostnames, {name: place for place, name in enumerate(advice.nodes)})

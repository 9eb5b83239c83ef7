"""How many moves the Limits allow on one snapshot; percentages are resolved here."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rescheduler.documents.amounts import allowed
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.wording import counted
from rescheduler.policies.limits import Limits


class Allowance(NamedTuple):
    """How many moves a field of the Limits allows. pods: what a percentage is of, else 0."""

    name: str
    amount: int | str
    pods: int
    most: int
    room: int | None = None
    """How many the durable state has room for, where a percentage would be more."""

    @property
    def text(self) -> str:
        """As operators read it: `1`, or `10% of 20 pods`."""
        of = f" of {counted(self.pods, 'pod')}" if isinstance(self.amount, str) else ""
        room = "" if self.room is None else f", of which the state has room for {self.room}"
        return f"{self.amount}{of}{room}"

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


class Allowances:
    """What the Limits allow, in moves.

    A percentage is of the pods that run: on a node, Running, not being deleted, and with an owner
    that replaces them elsewhere. What may not count makes it smaller, and never greater.
    """

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._numbers: dict[str, Allowance] = {}

    @cached_property
    def cycle(self) -> Allowance:
        """Of one cycle."""
        return self._of("movesPerCycle", lambda: int(self._counted.sum()))

    @cached_property
    def hour(self) -> Allowance:
        """Of one hour."""
        return self._of("movesPerHour", lambda: int(self._counted.sum()))

    @cached_property
    def day(self) -> Allowance:
        """Of 24 hours. A number was checked against the room in the state; a percentage is here."""
        found = self._of("movesPerDay", lambda: int(self._counted.sum()))
        room = self._limits.room_per_day
        if isinstance(found.amount, int) or found.most <= room:
            return found
        return found._replace(most=room, room=room)

    def node(self, node: int) -> Allowance:
        """Away from one node, by its index; -1 is none."""
        return self._of("movesPerNode", lambda: int(self._by_node[node]) if node >= 0 else 0)

    def namespace(self, namespace: str) -> Allowance:
        """In one namespace."""
        return self._of("movesPerNamespace", lambda: self._by_namespace.get(namespace, 0))

    def workload(self, workload: int) -> Allowance:
        """Of one workload, by its index; -1 is none."""
        return self._of(
            "movesPerWorkload", lambda: int(self._by_workload[workload]) if workload >= 0 else 0
        )

    def _of(self, name: str, pods: Callable[[], int]) -> Allowance:
        known = self._numbers.get(name)
        if known is not None:
            return known
        amount: int | str = getattr(self._limits, name)
        if isinstance(amount, int):
            return self._numbers.setdefault(name, Allowance(name, amount, 0, amount))
        of = pods()
        return Allowance(name, amount, of, allowed(amount, of))

    @cached_property
    def _counted(self) -> BoolArray:
        """(pods,) whether each pod counts."""
        made = self._snapshot
        running = np.fromiter(
            (pod.status.phase == "Running" for pod in made.pods),
            dtype=np.bool_,
            count=len(made.pods),
        )
        answer: BoolArray = (
            running
            & ~made.leaving
            & ~made.on_own_node
            & (made.pod_node >= 0)
            & (made.pod_workload >= 0)
        )
        return answer

    @cached_property
    def _by_node(self) -> IntArray:
        """(nodes,) the pods that count."""
        of_pods = self._snapshot.pod_node[self._counted]
        return np.bincount(of_pods, minlength=len(self._snapshot.nodes)).astype(np.int32)

    @cached_property
    def _by_workload(self) -> IntArray:
        """(workloads,) the pods that count."""
        of_pods = self._snapshot.pod_workload[self._counted]
        return np.bincount(of_pods, minlength=len(self._snapshot.workloads)).astype(np.int32)

    @cached_property
    def _by_namespace(self) -> dict[str, int]:
        """Namespace to the pods that count."""
        answer: dict[str, int] = {}
        for pod in np.flatnonzero(self._counted).tolist():
            namespace = self._snapshot.pods[pod].metadata.namespace
            answer[namespace] = answer.get(namespace, 0) + 1
        return answer

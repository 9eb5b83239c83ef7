"""How many moves the Limits allow on one snapshot; percentages are resolved here."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rescheduler.documents.amounts import pods_of_amount
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.wording import count_text
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import DAY, MoveLimit
from rescheduler.policies.move_scopes import Scope


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
        of = f" of {count_text(self.pods, 'pod')}" if isinstance(self.amount, str) else ""
        room = "" if self.room is None else f", but the state has room for {self.room}"
        return f"{self.amount}{of}{room}"

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


def share_allowance(limits: Limits, row: MoveLimit, amount: str, pods: int) -> Allowance:
    """A percentage of so many pods; that of a day's moves is bounded by the room in the state.

    A number was checked against that when it was read.
    """
    most, room = pods_of_amount(amount, pods), limits.room_per_day
    if row.overall and row.within == DAY and most > room:
        return Allowance(row.field, amount, pods, room, room)
    return Allowance(row.field, amount, pods, most)


class Groups:
    """The groups of one scope on a snapshot, by number.

    names: of each group. of_pods: (pods,) the number of each pod's group. Groups of past moves that
    the snapshot does not have are numbered as they come.
    """

    def __init__(self, snapshot: Snapshot, scope: Scope) -> None:
        self.names, self.of_pods = scope.groups(snapshot)
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._fixed = scope.of_snapshot

    def number(self, name: str) -> int:
        """The number of the group with this name."""
        number = self._numbers.get("" if self._fixed and name not in self._numbers else name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number


class Allowances:
    """What the Limits allow, in moves.

    A percentage is of the pods that run: on a node, Running, not being deleted, and with an owner
    that replaces them elsewhere. If unsure whether a pod counts, it does not.
    """

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._groups: dict[Scope, Groups] = {}
        self._pods: dict[Scope, IntArray] = {}
        self._fixed: dict[str, Allowance] = {}
        self._shares: dict[tuple[str, int], Allowance] = {}

    def groups(self, scope: Scope) -> Groups:
        """The groups of the scope on this snapshot."""
        if scope not in self._groups:
            self._groups[scope] = Groups(self._snapshot, scope)
        return self._groups[scope]

    def allowance_of(self, row: MoveLimit, group: int = 0) -> Allowance:
        """What the limit allows to the group with this number."""
        fixed = self._fixed.get(row.field)
        if fixed is not None:
            return fixed
        amount = self._limits.amount(row)
        if isinstance(amount, int):
            return self._fixed.setdefault(row.field, Allowance(row.field, amount, 0, amount))
        key = (row.field, group)
        if key not in self._shares:
            pods = self.pods(row.per, group)
            self._shares[key] = share_allowance(self._limits, row, amount, pods)
        return self._shares[key]

    def pods(self, scope: Scope, group: int) -> int:
        """How many pods of the group count; none in one that the snapshot does not have."""
        if scope not in self._pods:
            of_pods = self.groups(scope).of_pods[self._running]
            self._pods[scope] = np.bincount(of_pods).astype(np.int32)
        pods = self._pods[scope]
        return int(pods[group]) if group < len(pods) else 0

    @cached_property
    def _running(self) -> BoolArray:
        """(pods,) whether each pod counts."""
        snapshot = self._snapshot
        running = np.fromiter(
            (pod.status.phase == "Running" for pod in snapshot.pods),
            dtype=np.bool_,
            count=len(snapshot.pods),
        )
        answer: BoolArray = (
            running
            & ~snapshot.leaving
            & ~snapshot.on_own_node
            & (snapshot.pod_node >= 0)
            & (snapshot.pod_workload >= 0)
        )
        return answer

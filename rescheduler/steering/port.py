"""The ports of steering: table, taints, extender and clock; a simulation has its own."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rescheduler.model.moves.steering_entry import ExtenderStatus, SteeringEntry
from rescheduler.model.problem import Problem


class Table(Protocol):
    """The table of replacements to steer; `SteeringTable` is the real one."""

    def add(self, entries: Sequence[SteeringEntry], fence: int) -> Problem | None:
        """Store these, or say why they do not fit."""
        ...

    def remove(self, pods: Collection[str], fence: int) -> None:
        """Take out the entries of these pods, by UID."""
        ...

    def sweep(self, fence: int, *, surely: bool) -> list[str]:
        """Take out everything; what was there. surely: also write where nothing seems to be."""
        ...

    def exists(self) -> bool:
        """Whether there is a table."""
        ...

    def version(self) -> str:
        """The resourceVersion of the table as it is stored now; "" without one."""
        ...

    def is_read(self, means: str = "") -> bool | None:
        """Whether the API server shows that it reads the table as it is stored now; None: none.

        means: which one must read it; "": all that do.
        """
        ...


class ExtenderStatusReader(Protocol):
    """What an extender shows of itself; `ExtenderStatusReader` of actions is the real one."""

    def read(self) -> ExtenderStatus | None:
        """What it shows; None where it never did."""
        ...


class Taints(Protocol):
    """The soft taints of nodes; `SoftTaints` is the real one."""

    def may_taint(self) -> bool:
        """Whether nodes may be tainted."""
        ...

    def add(self, node: str, fence: int, until: datetime) -> Problem | None:
        """Taint the node, or say why that must not be."""
        ...

    def remove(self, node: str, fence: int, *, begins: bool = False) -> None:
        """Take our taint off the node."""
        ...


def _ignore_warning(_said: str, **_values: str) -> None:
    """Stands where nobody reads a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The hands and eyes of steering. Who has no lock asks nothing but `Means.ready`.

    clock: the API server's time. sleep: seconds, shorter when stopped. warn: writes to the log.
    fence: the number of our lease transition. locked: whether the lock stays ours for as long as
    one request may take, whatever happens.
    tainted_nodes: how many nodes may be tainted at a time.
    table: of replacements to steer. taints: of nodes. account: who taints them, for messages.
    extender: what it shows of itself.
    """

    clock: Callable[[], datetime]
    table: Table
    taints: Taints
    extender: ExtenderStatusReader
    sleep: Callable[[float], None] = lambda _: None
    warn: Callable[..., None] = _ignore_warning
    fence: Callable[[], int] = lambda: 0
    locked: Callable[[], bool] = lambda: False
    tainted_nodes: int = 0
    account: str = "the service account"

"""Ports of acting: API server, ledger, clock and trail; a simulation has its own."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rescheduler.actions.evict import CALL_TIMEOUT, EvictionAnswer
from rescheduler.actions.kueue_workloads import KueueWorkloads
from rescheduler.actions.lease import Lease
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.seen_pod import SeenPod
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import MoveResult, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.trails.trail import Record
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.steering.steering import Steering


class Checks(Protocol):
    """What is checked on the fresh snapshot of one batch; `Recheck` is the real one."""

    def guards(self) -> Sequence[Problem]:
        """Every guard that holds on this snapshot."""
        ...

    def refuse_held(self, move: PlannedMove, /) -> Problem | None:
        """Why this move is held as earlier ones went wrong; others may go on."""
        ...

    def check(self, move: PlannedMove, made: Sequence[PastMove], /) -> PlannedMove | Problem:
        """The move as it stands now, after those of its batch that were made; or why not."""
        ...


Recorder = Callable[[Record], None]
"""Writes to the audit trail; raises TrailUnwritable before, never after something was done."""


def discard_record(_record: Record) -> None:
    """Stands in if no audit trail was requested."""


def discard_warning(_said: str, **_values: str) -> None:
    """Stands where nobody reads a log."""


@dataclass(frozen=True, slots=True)
class RequestIntervals:
    """Seconds. gap: between two evictions.

    poll, poll_most: between the first two checks for replacements, and at most.

    call: the timeout of an eviction. retry_cap: the longest wait that a server may ask for.
    resolve: the pauses between checks of a pod whose eviction was not answered.
    """

    gap: float = 1.0
    poll: float = 2.0
    poll_most: float = 15.0
    call: float = CALL_TIMEOUT
    retry_cap: float = 15.0
    resolve: tuple[float, ...] = (1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The hands and eyes of acting.

    lease, ledger: the lock and the durable history.
    observe: a fresh snapshot with readings; raises SourceError.
    recheck: from a fresh snapshot and the history, the checks of one batch.
    pod: what one pod by namespace and name shows of its eviction, also one that has ended, or None;
    raises SourceError, ObjectUnreadable where that one alone cannot be read.
    pods: the pods of a namespace that have not ended, with a label selector or of a name, where
    these are not ""; raises SourceError, ObjectUnreadable where one cannot be decoded. See
    `read_pods`.
    reread: a pod by namespace and name with all that decides whether it may be evicted, read now:
    see `read_surroundings`; raises SourceError, ObjectUnreadable where that of this one cannot be
    read alone, ObjectLate where it is late.
    queues: the Workloads of Kueue that have not finished and its queues, read now, however long
    that takes; raises SourceError. workload: one by namespace and name, and nodes, see
    `read_workload`; raises SourceError.
    evict: asks for one eviction, with the id of the plan and the fence. dry_run: the same in a dry
    run, which does nothing, and is answered by anybody who has a say.
    announce: reports to the cluster what became of a move of the plan with that id; never fails.
    demoted: reports to the cluster that a policy was demoted to Audit; never fails.
    clock: the API server's time. steady: seconds on a clock that never steps.
    sleep: seconds, shorter when stopped.
    stop: why nothing more may be sent (a signal, the deadline), or "".
    record: writes to the audit trail.
    steering: sends replacements to the nodes that the plan chose; it has a clock of its own.
    kueue: the Workloads of Kueue.
    warn: writes to the log.
    schedulers: the names of those that the plan knew.
    policies: all of the run, by whose readings moves are measured later.
    """

    lease: Lease
    ledger: Ledger
    observe: Callable[[], Snapshot]
    recheck: Callable[[Snapshot, History], Checks]
    pod: Callable[[str, str], SeenPod | None]
    pods: Callable[[str, str, str], list[Pod]]
    reread: Callable[[str, str], Snapshot]
    queues: Callable[[], Snapshot]
    workload: Callable[[str, str, Sequence[str]], Snapshot]
    evict: Callable[[PlannedMove, str, int], EvictionAnswer]
    dry_run: Callable[[PlannedMove, str, int], EvictionAnswer]
    announce: Callable[[PlannedMove, MoveResult, str], None]
    clock: Callable[[], datetime]
    steady: Callable[[], float]
    sleep: Callable[[float], None]
    stop: Callable[[], str]
    limits: Limits
    policies: Sequence[Policy]
    steering: Steering
    kueue: KueueWorkloads
    intervals: RequestIntervals = RequestIntervals()
    record: Recorder = discard_record
    demoted: Callable[[Problem], None] = lambda _: None
    warn: Callable[..., None] = discard_warning
    schedulers: Collection[str] = ()

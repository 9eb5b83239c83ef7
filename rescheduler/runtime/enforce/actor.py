"""Everything that acting needs from outside, as ports, so that a simulation can stand in for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rescheduler.actions.events import EventWriter
from rescheduler.actions.evict import CALL_TIMEOUT, EvictionAnswer, annotations, evict
from rescheduler.actions.lease import Lease
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.pods import read_pod
from rescheduler.actions.stored import StoredObject
from rescheduler.actions.transport import Api, ServerClock
from rescheduler.kube.objects import Pod
from rescheduler.model.history import History, PastMove
from rescheduler.model.plan import MoveResult, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.limits import Limits

LEASE = "rescheduler"
STATE = "rescheduler-state"
FINDING_HISTORY = "rescheduler-finding-history"

Check = Callable[[PlannedMove, Sequence[PastMove]], PlannedMove | Problem]
"""A move as it stands now, after the others of its batch that were made; or why not."""


class Lock(Protocol):
    """The right to act; `Lease` is the real one."""

    @property
    def held(self) -> bool:
        """Whether it is ours."""
        ...

    def acquire(self) -> None:
        """Take it, or raise LockHeld."""
        ...

    def start(self) -> None:
        """Keep it from now on."""
        ...

    def valid_for(self, seconds: float) -> bool:
        """Whether it stays ours for so many seconds, whatever happens."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


class Records(Protocol):
    """The durable history; `Ledger` is the real one."""

    @property
    def fence(self) -> int:
        """The number of our turn."""
        ...

    @property
    def paused(self) -> bool:
        """Whether people hold all acting, as of the last read or write."""
        ...

    def open(self) -> History:
        """Load, and begin our turn."""
        ...

    def load(self) -> History:
        """Load again in the same turn."""
        ...

    def write(self, history: History) -> History:
        """Store."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. gap: between two evictions. poll: between two looks for replacements.

    call: the timeout of an eviction. retry_cap: the longest wait that a server may ask for.
    resolve: the pauses between looks at a pod whose eviction was not answered.
    """

    gap: float = 1.0
    poll: float = 2.0
    call: float = CALL_TIMEOUT
    retry_cap: float = 15.0
    resolve: tuple[float, ...] = (1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The hands and eyes of acting.

    lease, ledger: the lock and the durable history.
    observe: a fresh snapshot with readings; raises SourceError.
    recheck: from a fresh snapshot and the history, the check of each move of one batch.
    pod: one pod by namespace and name, or None; raises SourceError.
    pods: all live pods of a namespace; raises SourceError.
    evict: asks for one eviction, with the id of the plan and the fence.
    announce: tells the cluster what became of a move of the plan with that id; never fails.
    clock: the API server's time. sleep: seconds, shorter when told to stop.
    stop: why nothing more may be sent (a signal, the deadline), or "".
    """

    lease: Lock
    ledger: Records
    observe: Callable[[], Snapshot]
    recheck: Callable[[Snapshot, History], Check]
    pod: Callable[[str, str], Pod | None]
    pods: Callable[[str], list[Pod]]
    evict: Callable[[PlannedMove, str, int], EvictionAnswer]
    announce: Callable[[PlannedMove, MoveResult, str], None]
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    stop: Callable[[], str]
    limits: Limits
    pace: Pace = Pace()


@dataclass(frozen=True, slots=True)
class State:
    """The lock and the ledger of one process on one cluster, with the server's clock."""

    lease: Lease
    ledger: Ledger
    clock: ServerClock


def open_state(
    api: Api, *, namespace: str, identity: str, wait: Callable[[float], bool] | None = None
) -> State:
    """The lock and the ledger in that namespace; nothing is sent yet.

    identity: unique to this process, such as the host's name with a random part.
    wait: sleeps for so many seconds while the lock is held by another, or answers True as soon as
    the process is told to stop.
    """
    # The lock is renewed on connections of its own, so that nothing can hold up a renewal.
    own = Api(configuration=api.configuration)
    own.default_headers = dict(api.default_headers)
    clock = ServerClock()
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    lease = Lease(
        StoredObject(own, leases, LEASE, clock=clock),
        where=f"{namespace}/{LEASE}",
        identity=identity,
        now=clock.now,
        wait=wait,
    )
    ledger = Ledger(
        StoredObject(api, maps, STATE, clock=clock),
        where=f"{namespace}/{STATE}",
        marker=lease,
        now=clock.now,
    )
    return State(lease, ledger, clock)


def live_actor(  # noqa: PLR0913 - acting has that many ports
    api: Api,
    state: State,
    *,
    observe: Callable[[], Snapshot],
    recheck: Callable[[Snapshot, History], Check],
    pods: Callable[[str], list[Pod]],
    sleep: Callable[[float], None],
    stop: Callable[[], str],
    limits: Limits,
) -> Actor:
    """The actor on a real cluster."""

    def ask(move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        return evict(api, move, annotations(move, plan, fence))

    return Actor(
        lease=state.lease,
        ledger=state.ledger,
        observe=observe,
        recheck=recheck,
        pod=lambda namespace, name: read_pod(api, namespace, name),
        pods=pods,
        evict=ask,
        announce=EventWriter(api, instance=state.lease.identity, now=state.clock.now),
        clock=state.clock.now,
        sleep=sleep,
        stop=stop,
        limits=limits,
    )

"""The parts that act on a real cluster, behind the ports of `Actor`."""

from collections.abc import Callable
from dataclasses import dataclass

from rescheduler.actions.events import EventWriter
from rescheduler.actions.evict import EvictionAnswer, annotations, evict, read_pod
from rescheduler.actions.lease import Lease
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.stored import StoredObject
from rescheduler.actions.transport import Api, ServerClock, steady
from rescheduler.kube.objects import Pod
from rescheduler.model.history import History
from rescheduler.model.plan import PlannedMove
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.limits import Limits
from rescheduler.runtime.enforce.actor import Actor, Checks

NAMESPACE = "rescheduler"
"""Of the lock and the state, wherever we run: were it a setting, two of us could each hold a lock
and spend a budget of their own."""
LEASE = "rescheduler"
STATE = "rescheduler-state"
FINDING_HISTORY = "rescheduler-finding-history"


@dataclass(frozen=True, slots=True)
class State:
    """The lock and the ledger of one process on one cluster, with the server's clock."""

    lease: Lease
    ledger: Ledger
    clock: ServerClock


def open_state(api: Api, *, identity: str, wait: Callable[[float], bool] | None = None) -> State:
    """The lock and the ledger of the cluster; nothing is sent yet.

    identity: unique to this process, such as the host's name with a random part.
    wait: sleeps for so many seconds while the lock is held by another, or answers True as soon as
    the process is asked to stop.
    """
    # The lock is renewed on connections of its own, so that nothing can hold up a renewal.
    own = Api(configuration=api.configuration)
    own.default_headers = dict(api.default_headers)
    clock = ServerClock()
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    lease = Lease(
        StoredObject(own, leases, LEASE, clock=clock),
        where=f"{NAMESPACE}/{LEASE}",
        identity=identity,
        now=clock.now,
        wait=wait,
    )
    ledger = Ledger(
        StoredObject(api, maps, STATE, clock=clock),
        where=f"{NAMESPACE}/{STATE}",
        marker=lease,
        clock=clock,
    )
    return State(lease, ledger, clock)


def live_actor(  # noqa: PLR0913 - acting has that many ports
    api: Api,
    state: State,
    *,
    observe: Callable[[], Snapshot],
    recheck: Callable[[Snapshot, History], Checks],
    pods: Callable[[str, str, str], list[Pod]],
    reread: Callable[[str, str], Snapshot],
    sleep: Callable[[float], None],
    stop: Callable[[], str],
    limits: Limits,
) -> Actor:
    """The actor on a real cluster."""
    state.ledger.keep = limits.keep

    def ask(move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        return evict(api, move, annotations(move, plan, fence))

    return Actor(
        lease=state.lease,
        ledger=state.ledger,
        observe=observe,
        recheck=recheck,
        pod=lambda namespace, name: read_pod(api, namespace, name),
        pods=pods,
        reread=reread,
        evict=ask,
        announce=EventWriter(api, instance=state.lease.identity, now=state.clock.now),
        clock=state.clock.now,
        steady=steady,
        sleep=sleep,
        stop=stop,
        limits=limits,
    )

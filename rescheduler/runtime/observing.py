"""What a cycle sees: the cluster with its readings, or a recording of them, and the history."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import numpy as np

from rescheduler.actions.finding_history_store import FindingHistoryStore
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.stored import StoredObject
from rescheduler.actions.transport import ServerClock
from rescheduler.kube.controllers import Namespace
from rescheduler.model.errors import ActionError, ClusterUnavailable
from rescheduler.model.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.readings import Reading, ReadingRequest, Readings
from rescheduler.model.snapshot import Snapshot
from rescheduler.runtime.enforce.actor import FINDING_HISTORY, STATE
from rescheduler.runtime.settings import Settings
from rescheduler.sources.datasets import DATASET, Catalogs
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.running_scheduler import read_scheduler
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from rescheduler.sources.recording import load

Observe = Callable[[Iterable[ReadingRequest]], Snapshot]
"""Takes a snapshot with these readings."""


def observer(settings: Settings, connection: Connection | None) -> Observe:
    """How to take snapshots: from the recording if there is one, else from the real sources."""
    if settings.snapshot is not None:
        recording = load(settings.snapshot)
        return lambda _requests: recording
    if connection is None:
        raise ValueError("a live snapshot needs a connection")
    prometheus = None
    if settings.prometheus_url is not None:
        prometheus = Prometheus(
            settings.prometheus_url,
            ca_file=settings.prometheus_ca_file,
            token_file=settings.prometheus_token_file,
            selector=settings.prometheus_selector,
        )
    catalogs = Catalogs()
    return lambda requests: with_scheduler(
        settings, connection, _live(connection, prometheus, catalogs, requests)
    )


def with_scheduler(settings: Settings, connection: Connection, snapshot: Snapshot) -> Snapshot:
    """The snapshot with what the running scheduler says of itself, where it is to be asked."""
    if settings.scheduler_url is None:
        return snapshot
    told = read_scheduler(
        connection,
        settings.scheduler_url,
        ca_file=settings.scheduler_ca_file,
        verify=not settings.scheduler_insecure_skip_tls_verify,
    )
    return replace(snapshot, scheduler=told)


def _live(
    connection: Connection,
    prometheus: Prometheus | None,
    catalogs: Catalogs,
    requests: Iterable[ReadingRequest],
) -> Snapshot:
    snapshot = read_cluster(connection, now=lambda: datetime.now(UTC))
    wanted = sorted(set(requests))
    if not wanted:
        return snapshot
    looked_up = catalogs.read(each for each in wanted if each.name == DATASET)
    wanted = [each for each in wanted if each.name != DATASET]
    if prometheus is None:
        measured = Readings(tuple(_unasked(each, snapshot) for each in wanted))
    else:
        measured = read_readings(prometheus, wanted, snapshot) if wanted else Readings()
    return replace(snapshot, readings=Readings((*measured.entries, *looked_up)))


def _unasked(request: ReadingRequest, snapshot: Snapshot) -> Reading:
    """The reading that nobody could be asked for."""
    sizes = {"node": len(snapshot.nodes), "pod": len(snapshot.pods), "pair": 0}
    size = sizes[request.subject]
    absent = np.full(size, np.nan)
    return Reading(
        request=request,
        unit="",
        values=absent,
        ages=absent,
        expected=np.ones(size, dtype=np.bool_),
        problem=Problem("RDG001", "No --prometheus-url was given, so there is nothing to read."),
    )


def cluster_uid(connection: Connection) -> str:
    """The UID of namespace kube-system, which stands for the cluster.

    Raises:
        ClusterUnavailable: it cannot be read.
    """
    path = "/api/v1/namespaces/kube-system"
    try:
        return msgspec.json.decode(connection.get(path), type=Namespace).metadata.uid
    except msgspec.MsgspecError as error:
        raise ClusterUnavailable(
            f"{path} is not a Namespace: {error}", "this is not a Kubernetes API server."
        ) from error


class _Unmarked:
    """Stands for the Lease where we only look: we cannot tell that a state is missing."""

    marked = False

    def mark(self) -> None:
        """Nothing is ever written by those who only look."""


def memory_of(connection: Connection, namespace: str) -> FindingHistoryStore:
    """Where earlier cycles left what they found; one in Audit adds no namespace to the cluster."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    clock = ServerClock()
    store = StoredObject(connection.api, path, FINDING_HISTORY, clock=clock, makes_namespace=False)
    return FindingHistoryStore(store, where=f"{namespace}/{FINDING_HISTORY}")


def recall(connection: Connection, namespace: str) -> tuple[History, list[Problem]]:
    """The recent moves, for planning without the lock; reads only.

    Where the state does not exist, or may not be read, there are none, and a note says so.
    """
    clock = ServerClock()
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    ledger = Ledger(
        StoredObject(connection.api, path, STATE, clock=clock),
        where=f"{namespace}/{STATE}",
        marker=_Unmarked(),
        now=clock.now,
    )
    try:
        return ledger.peek(), []
    except ActionError as error:
        note = (
            f"Our own recent moves could not be read, so cool-downs and budgets do not show "
            f"in this plan: {error.message}"
        )
        return History(), [Problem(code="DAT002", message=note)]

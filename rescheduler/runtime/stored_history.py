"""Reads the stored history without the lock, for those who do not act."""

import msgspec

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.finding_history_store import FindingHistoryStore
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.stored_object import StoredObject
from rescheduler.kube.controllers import Namespace
from rescheduler.kube.nesting import decode_json
from rescheduler.model.errors import ActionError, ClusterUnavailable, LedgerUnreadable
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.runtime.live_actor import FINDING_HISTORY, NAMESPACE, STATE
from rescheduler.sources.kubernetes.client import Connection


def cluster_uid(connection: Connection) -> str:
    """The UID of namespace kube-system, which stands for the cluster.

    Raises:
        ClusterUnavailable: it cannot be read.
    """
    path = "/api/v1/namespaces/kube-system"
    try:
        return decode_json(connection.get(path), Namespace).metadata.uid
    except msgspec.MsgspecError as error:
        raise ClusterUnavailable(
            f"{path} is not a Namespace: {error}", "this is not a Kubernetes API server."
        ) from error


class _Unmarked:
    """Stands for the Lease where we only read: that a state is missing cannot be known."""

    noted = ""

    def note(self, text: str) -> None:
        """Nothing is ever written by those who only read."""


def memory_of(connection: Connection) -> FindingHistoryStore:
    """Where earlier cycles left what they found; one in Audit adds no namespace to the cluster."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    clock = ServerClock()
    store = StoredObject(connection.api, path, FINDING_HISTORY, clock=clock, makes_namespace=False)
    return FindingHistoryStore(store, where=f"{NAMESPACE}/{FINDING_HISTORY}")


_PAUSE = Problem("GRD006", "Evictions are paused by people, so no run carries this plan out.")


def recall(connection: Connection) -> tuple[History, list[Problem]]:
    """The recent moves, for planning without the lock; reads only. A note reports a pause.

    Where the state does not exist, or may not be read, there are none, and a note reports it; one
    that is damaged somebody must look at (GRD004).
    """
    clock = ServerClock()
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    ledger = Ledger(
        StoredObject(connection.api, path, STATE, clock=clock),
        where=f"{NAMESPACE}/{STATE}",
        marker=_Unmarked(),
        clock=clock,
    )
    try:
        history = ledger.peek()
    except LedgerUnreadable as error:
        return History(), [Problem(code="GRD004", message=error.sentence)]
    except ActionError as error:
        note = (
            f"Our own recent moves could not be read, so cool-downs and budgets do not show "
            f"in this plan: {error.message}"
        )
        return History(), [Problem(code="DAT002", message=note)]
    return history, [_PAUSE] if ledger.paused else []

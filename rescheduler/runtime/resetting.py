"""Resets by name: what people ask for by `rescheduler reset`, written into the state's ConfigMap.

The next run or plan that reads the state obeys it. No budget that can be believed is ever reset.
"""

from collections.abc import Callable
from typing import Any

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.lease import NOTE
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.resets import reset, with_request
from rescheduler.actions.stored_object import StoredObject, config_map
from rescheduler.model.errors import ActionError
from rescheduler.runtime.live_actor import LEASE, NAMESPACE, STATE
from rescheduler.sources.kubernetes.client import Connection

_WHERE = f"{NAMESPACE}/{STATE}"
_TRIES = 3


class _LeaseNote:
    """What the Lease remembers of the state, for one who does not hold the lock."""

    def __init__(self, store: StoredObject) -> None:
        metadata = (store.read() or {}).get("metadata") or {}
        self.noted = str((metadata.get("annotations") or {}).get(NOTE, ""))

    def note(self, text: str) -> None:
        """Nothing is noted by who does not hold the lock."""


class Resetting:
    """The state of one cluster, for people who reset something of it."""

    def __init__(self, connection: Connection) -> None:
        """Reads the Lease. Raises: ActionError."""
        clock = ServerClock()
        maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
        api = connection.api
        self._clock = clock
        self._store = StoredObject(api, maps, STATE, clock=clock, makes_namespace=False)
        lease = StoredObject(api, leases, LEASE, clock=clock, makes_namespace=False)
        self._ledger = Ledger(self._store, where=_WHERE, marker=_LeaseNote(lease), clock=clock)

    def by_name(self, target: str, name: str) -> list[str]:
        """Ask for the reset of a hold, landings or a demotion; answers what it is, if there is any.

        Raises:
            LedgerUnreadable, ActionError: the state cannot be read, or not written.
        """
        resets = reset(self._ledger.peek(), target, name, self._clock.now())
        if resets:
            self._write(lambda current: with_request(current, target, name))
        return resets

    def state(self) -> str:
        """Ask to accept the state again; answers why it cannot be believed, "" where it can be.

        Raises:
            ActionError: it cannot be read, or not written.
        """
        doubt = self._ledger.doubt()
        if doubt:
            self._write(_forget_budgets)
        return doubt

    def _write(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        for _ in range(_TRIES):
            current = self._store.read()
            if current is None:
                if self._store.create(change(config_map(_WHERE))) is not None:
                    return
            elif self._store.replace(change(current)) is not None:
                return
        raise ActionError(
            f"ConfigMap {_WHERE} changed {_TRIES} times while it was written", "try it again."
        )


def _forget_budgets(current: dict[str, Any]) -> dict[str, Any]:
    return {**current, "data": {**(current.get("data") or {}), "budgets": "forget"}}

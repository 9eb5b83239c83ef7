"""The pause of all evictions: one field of the state's ConfigMap, which people may write too.

data.paused    anything but "false" holds all evictions (`paused_in`)
"""

from typing import Any

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.ledger_format import paused_in
from rescheduler.actions.stored_object import StoredObject, config_map
from rescheduler.model.errors import ActionError
from rescheduler.runtime.live_actor import NAMESPACE, STATE
from rescheduler.sources.kubernetes.client import Connection

_WHERE = f"{NAMESPACE}/{STATE}"
_TRIES = 3


class PauseSwitch:
    """The field `paused` of one cluster, for people who pause and resume."""

    def __init__(self, connection: Connection) -> None:
        """Nothing is sent yet."""
        maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        self._store = StoredObject(
            connection.api, maps, STATE, clock=ServerClock(), makes_namespace=False
        )

    def is_paused(self) -> bool:
        """Whether evictions are paused now. Raises: ActionError."""
        return paused_in(self._store.read() or {})

    def write_paused(self, *, paused: bool) -> None:
        """Write the field, and nothing else of the ConfigMap; it is created where it is missing.

        Raises:
            ActionError: it cannot be read, or not written.
        """
        for _ in range(_TRIES):
            current = self._store.read()
            if current is None:
                if self._store.create(_with_paused(config_map(_WHERE), paused=paused)) is not None:
                    return
            elif self._store.replace(_with_paused(current, paused=paused)) is not None:
                return
        raise ActionError(
            f"ConfigMap {_WHERE} changed {_TRIES} times while it was written", "try it again."
        )


def _with_paused(current: dict[str, Any], *, paused: bool) -> dict[str, Any]:
    return {**current, "data": {**(current.get("data") or {}), "paused": str(paused).lower()}}

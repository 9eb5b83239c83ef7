"""The Lease in which an extender shows which table it goes by, and when it was called last."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.moves.steering_entry import ExtenderStatus

NAME = "rescheduler-extender"
"""Of the Lease, which the component of deploy/ brings."""
VERSION = "rescheduler.io/table-version"
LAST_REQUEST = "rescheduler.io/last-asked"
LASTS = 30
"""Seconds after which what it shows counts no more."""
_LASTS = timedelta(seconds=LASTS)
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class ExtenderLease:
    """The Lease, written by the extender and read by who acts."""

    def __init__(self, store: StoredObject, clock: ServerClock) -> None:
        """clock: hears the time of the API server from `store`."""
        self._store = store
        self._clock = clock

    def show(self, version: str, last_request: datetime | None, identity: str) -> str:
        """Write what we go by; answers why not, or "".

        A scheduler may ask any of several extenders, so that one of them alone is shown: the first,
        until it has not renewed the Lease for `LASTS`.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        current = self._store.read()
        if current is None:
            return f"there is no Lease {NAME}"
        spec = current.get("spec") or {}
        renewed, holder = _moment(spec.get("renewTime")), spec.get("holderIdentity") or identity
        if holder != identity and renewed and abs(self._clock.now() - renewed) < _LASTS:
            return f"another extender, {holder}, runs and writes Lease {NAME}"
        metadata = current.get("metadata") or {}
        notes = {**(metadata.get("annotations") or {}), VERSION: version}
        if last_request is not None:
            notes[LAST_REQUEST] = _text(last_request)
        spec = {
            "holderIdentity": identity,
            "leaseDurationSeconds": LASTS,
            "renewTime": _text(self._clock.now()),
        }
        body = {**current, "metadata": {**metadata, "annotations": notes}, "spec": spec}
        return "" if self._store.replace(body) is not None else "another extender was first"

    def read(self) -> ExtenderStatus | None:
        """What the extender shows; None where it never did.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        current: dict[str, Any] = self._store.read() or {}
        notes = (current.get("metadata") or {}).get("annotations") or {}
        renewed = _moment((current.get("spec") or {}).get("renewTime"))
        if renewed is None:
            return None
        return ExtenderStatus(
            version=str(notes.get(VERSION, "")),
            renewed=renewed,
            lastRequest=_moment(notes.get(LAST_REQUEST)),
        )


def _text(moment: datetime) -> str:
    """Microseconds, as the API server wants it."""
    return moment.astimezone(UTC).strftime(_TIME)


def _moment(text: Any) -> datetime | None:
    try:
        return datetime.strptime(str(text), _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None

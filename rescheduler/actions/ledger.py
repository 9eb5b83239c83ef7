"""The durable state: what was moved, in a ConfigMap that only the holder of the lock can write.

    data.paused         "true" holds all acting; for people, and kept as it is by us
    data.landings       "forget" drops how landings compared so far; for people, removed once done
    data.checksum       SHA-256 of the bytes below
    binaryData.state    gzip of JSON: schemaVersion, fence, history

Every write is a compare-and-swap. The fence is raised once after the lock is won; a writer that
finds another fence has lost the lock, however late it wakes.
"""

import base64
import binascii
import gzip
import hashlib
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol

import msgspec
from msgspec import structs

from rescheduler.actions.lease import Store
from rescheduler.actions.stored import config_map
from rescheduler.model.errors import ActionError, LedgerUnreadable, LockLost
from rescheduler.model.history import History, PastMove
from rescheduler.wire.inflating import inflate

SCHEMA_VERSION = 1
KEEP = timedelta(hours=48)
"""Closed moves older than this decide nothing any more: no budget or cool-down is longer."""
MAX_BYTES = 700_000
"""A ConfigMap holds 1 MiB, of which base64 takes a quarter."""
MAX_INFLATED = 64 * 2**20
"""Bytes of JSON; a move is less than a kilobyte, and compresses to a fifth."""
_RESET = (
    "restore it from a backup; or, to forget all budgets and cool-downs on purpose, delete its "
    "`state` and the annotation rescheduler.io/ledger of the Lease."
)


class State(msgspec.Struct, kw_only=True):
    """What is stored."""

    schemaVersion: int = SCHEMA_VERSION
    fence: int
    history: History


class Marker(Protocol):
    """Remembers elsewhere (on the Lease) that the state exists."""

    @property
    def marked(self) -> bool:
        """Whether the state was written at some time before."""
        ...

    def mark(self) -> None:
        """Remember it."""
        ...


class Ledger:
    """The history of moves, loaded and written under the lock."""

    def __init__(
        self,
        store: Store,
        *,
        where: str,
        marker: Marker,
        now: Callable[[], datetime],
    ) -> None:
        """where: `namespace/name` of the ConfigMap. now: the API server's time, for pruning."""
        self.fence = 0
        """The number of our lease transition; grows whenever anybody acquires the lock."""
        self.paused = False
        """Whether people asked to hold all acting, as of the last read or write."""
        self._store = store
        self._where = where
        self._blank = {**config_map(where), "data": {"paused": "false"}}
        self._marker = marker
        self._now = now
        self._object: dict[str, Any] | None = None
        self._state: State | None = None

    def open(self) -> History:
        """Load the state and raise the fence; to be called each time the lock was won.

        Raises:
            LedgerUnreadable: it is lost, damaged or newer than we are.
            LockLost: somebody else wrote meanwhile.
            ActionError: the API server does not answer, or refuses.
        """
        current = self._store.read()
        if current is None:
            self._first_run()
            current = self._store.create(self._blank) or self._store.read()
        if current is None:
            raise LockLost(f"ConfigMap {self._where} came and went while it was opened")
        state = self._decode(current)
        self._take(*_forgotten(current, state))
        self.fence = state.fence + 1
        history = self.write(state.history)
        if not self._marker.marked:
            self._marker.mark()
        return history

    def load(self) -> History:
        """Read it again in the same lease transition, to see what people changed.

        Raises:
            LedgerUnreadable, LockLost, ActionError: as `open`.
        """
        current = self._store.read()
        if current is None:
            raise LedgerUnreadable(f"ConfigMap {self._where} is gone", _RESET)
        state = self._decode(current)
        self._same_fence(state)
        self._take(*_forgotten(current, state))
        return state.history

    def peek(self) -> History:
        """What is stored, for planning without the lock; nothing is created.

        Raises:
            LedgerUnreadable, ActionError: as `open`.
        """
        current = self._store.read()
        if current is None:
            return History()
        return _forgotten(current, self._decode(current))[1].history

    def write(self, history: History) -> History:
        """Store this history, without what is too old to matter; answers what was stored.

        A person's change to `paused` meanwhile is kept and does not fail the write.

        Raises:
            LockLost: somebody with another fence wrote.
            LedgerUnreadable: what is stored now was not written by us.
            ActionError: it could not be stored, or it is not known whether it was.
        """
        state = State(fence=self.fence, history=pruned(history, self._now()))
        packed = gzip.compress(msgspec.json.encode(state), mtime=0)
        if len(packed) > MAX_BYTES:
            raise LedgerUnreadable(
                f"the history of {len(state.history.moves)} moves takes {len(packed)} bytes, "
                f"more than the {MAX_BYTES} that fit in ConfigMap {self._where}",
                "lower movesPerHour.",
            )
        problem: ActionError | None = None
        for _ in range(3):
            try:
                stored = self._store.replace(_filled(self._object or self._blank, packed))
                if stored is not None:
                    self._take(stored, state)
                    return state.history
            except ActionError as error:
                problem = error
            # A conflict, or a lost reply: what is there now decides.
            if self._stored_meanwhile(packed):
                self._state = state
                return state.history
        raise problem or ActionError(
            f"ConfigMap {self._where} changed three times while it was written",
            "check who else writes it.",
        )

    def _stored_meanwhile(self, packed: bytes) -> bool:
        """Read again: whether our write is there after all. A foreign one raises."""
        current = self._store.read()
        if current is None:
            raise LedgerUnreadable(f"ConfigMap {self._where} is gone", _RESET)
        if _packed(current) == base64.b64encode(packed).decode():
            self._object, self.paused = current, _paused(current)
            return True
        if _packed(current) != _packed(self._object or {}):
            found = self._decode(current)
            raise LockLost(
                f"ConfigMap {self._where} has fence {found.fence}, ours is {self.fence}",
                "check for a second instance; this one stops.",
            )
        self._object, self.paused = current, _paused(current)
        return False

    def _same_fence(self, state: State) -> None:
        if state.fence != self.fence:
            raise LockLost(
                f"ConfigMap {self._where} has fence {state.fence}, ours is {self.fence}",
                "check for a second instance; this one stops.",
            )

    def _take(self, current: dict[str, Any], state: State) -> None:
        self._object, self._state, self.paused = current, state, _paused(current)

    def _first_run(self) -> None:
        if self._marker.marked:
            raise LedgerUnreadable(
                f"ConfigMap {self._where} holds no state, but the Lease records that there was one",
                _RESET,
            )

    def _decode(self, current: dict[str, Any]) -> State:
        encoded = _packed(current)
        if not encoded:
            self._first_run()
            return State(fence=0, history=History())
        try:
            packed = base64.b64decode(encoded, validate=True)
            wanted = (current.get("data") or {}).get("checksum")
            found = hashlib.sha256(packed).hexdigest()
            if wanted != found:
                raise LedgerUnreadable(
                    f"ConfigMap {self._where}: checksum {found} instead of {wanted}", _RESET
                )
            plain = inflate(packed, MAX_INFLATED)
            version = msgspec.json.decode(plain, type=dict[str, Any]).get("schemaVersion")
            if version != SCHEMA_VERSION:
                raise LedgerUnreadable(
                    f"ConfigMap {self._where} has schema {version!r}, this version knows "
                    f"{SCHEMA_VERSION}",
                    "run the newer version that wrote it.",
                )
            return msgspec.json.decode(plain, type=State)
        except (binascii.Error, EOFError, OSError, zlib.error, msgspec.MsgspecError) as error:
            raise LedgerUnreadable(
                f"ConfigMap {self._where} cannot be decoded: {error}", _RESET
            ) from error


def pruned(history: History, now: datetime) -> History:
    """The history without closed moves older than `KEEP`; what is in flight is always kept."""
    since = now - KEEP
    kept = [move for move in history.moves if move.in_flight or _last(move) >= since]
    return structs.replace(history, moves=kept)


def _last(move: PastMove) -> datetime:
    return max(move.at, move.settled or move.at)


def _forgotten(current: dict[str, Any], state: State) -> tuple[dict[str, Any], State]:
    """Both as a person asked by `landings: forget`; the next write takes the request away."""
    data = current.get("data") or {}
    if str(data.get("landings", "")).strip().lower() != "forget":
        return current, state
    state.history.landings.clear()
    kept = {key: value for key, value in data.items() if key != "landings"}
    return {**current, "data": kept}, state


def _packed(current: dict[str, Any]) -> str:
    return str((current.get("binaryData") or {}).get("state") or "")


def _paused(current: dict[str, Any]) -> bool:
    """Anything but an explicit false holds: a typing error must not let evictions through."""
    value = (current.get("data") or {}).get("paused")
    return value is not None and str(value).strip().lower() != "false"


def _filled(current: dict[str, Any], packed: bytes) -> dict[str, Any]:
    data = {**(current.get("data") or {}), "checksum": hashlib.sha256(packed).hexdigest()}
    binary = {**(current.get("binaryData") or {}), "state": base64.b64encode(packed).decode()}
    return {**current, "data": data, "binaryData": binary}

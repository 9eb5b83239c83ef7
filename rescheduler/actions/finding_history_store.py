"""Where the finding history is kept: a ConfigMap of its own, written without the lock.

    binaryData.finding_history    gzip of MessagePack: schemaVersion, finding_history

It is not part of the ledger, so that a cycle in Audit, which must never be in the way of one that
acts, can write it too; and because it may be lost, damaged or full at no risk: what is not known
to have held moves nothing. Of two writers one gets a conflict and merges its observation.
"""

import base64
import gzip
import zlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from rescheduler.actions.lease import Store
from rescheduler.actions.stored_object import config_map
from rescheduler.model.errors import ActionError
from rescheduler.model.finding_history import FindingHistory, Observation
from rescheduler.wire.inflating import inflate

SCHEMA_VERSION = 1
MAX_INFLATED = 64 * 2**20
"""Bytes of MessagePack that 1 MiB of a ConfigMap may hold; findings compress to a tenth."""
REFRESH = timedelta(minutes=10)
"""Where nothing else is new, the time of the last cycle is written only so often."""
_ATTEMPTS = 3


class _State(msgspec.Struct, kw_only=True):
    schemaVersion: int = SCHEMA_VERSION
    finding_history: FindingHistory


class FindingHistoryStore:
    """The remembered finding history, read and written by compare-and-swap."""

    def __init__(self, store: Store, *, where: str) -> None:
        """where: `namespace/name` of the ConfigMap."""
        self._store = store
        self._where = where
        self._blank = config_map(where)

    def read(self) -> FindingHistory:
        """What is remembered; nothing where there is no ConfigMap, and none is created.

        Raises:
            ActionError: it cannot be read or decoded.
        """
        current = self._store.read()
        return FindingHistory() if current is None else self._decode(current)

    def remember(self, observations: Iterable[Observation], now: datetime) -> None:
        """Add what a cycle found at that time.

        Raises:
            ActionError: it could not be stored, or it is not known whether it was.
        """
        observations = tuple(observations)
        for _ in range(_ATTEMPTS):
            current = self._store.read() or self._store.create(self._blank)
            if current is None:
                continue  # somebody else has created it meanwhile
            earlier = self._salvage(current)
            after = earlier.remember(observations, now)
            if earlier.watches and _is_unchanged(earlier, after):
                return
            if self._store.replace(_fill_config_map(current, after)) is not None:
                return
        raise ActionError(
            f"ConfigMap {self._where} changed {_ATTEMPTS} times while it was written",
            "check who else writes it.",
        )

    def _salvage(self, current: dict[str, Any]) -> FindingHistory:
        """What is remembered; where it cannot be decoded all starts again."""
        try:
            return self._decode(current)
        except ActionError:
            return FindingHistory()

    def _decode(self, current: dict[str, Any]) -> FindingHistory:
        encoded = str((current.get("binaryData") or {}).get("finding_history") or "")
        if not encoded:
            return FindingHistory()
        try:
            plain = inflate(base64.b64decode(encoded, validate=True), MAX_INFLATED)
            state = msgspec.msgpack.decode(plain, type=_State)
        except (ValueError, EOFError, OSError, RecursionError, zlib.error) as error:
            raise ActionError(
                f"ConfigMap {self._where} cannot be decoded: {error}",
                "nothing to do; the next cycle of `run` begins it again.",
            ) from error
        if state.schemaVersion != SCHEMA_VERSION:
            raise ActionError(
                f"ConfigMap {self._where} has schema {state.schemaVersion}, this version knows "
                f"{SCHEMA_VERSION}",
                "run one version only; the next cycle of `run` begins it again.",
            )
        return state.finding_history


def _is_unchanged(earlier: FindingHistory, after: FindingHistory) -> bool:
    """Whether nothing was found or gone, and the last cycle is recent enough to keep."""
    if len(earlier.watches) != len(after.watches):
        return False
    return all(
        (one.policy, one.meaning, one.firsts) == (other.policy, other.meaning, other.firsts)
        and timedelta(0) <= other.evaluated - one.evaluated < REFRESH
        for one, other in zip(earlier.watches, after.watches, strict=True)
    )


def _fill_config_map(current: dict[str, Any], finding_history: FindingHistory) -> dict[str, Any]:
    packed = gzip.compress(msgspec.msgpack.encode(_State(finding_history=finding_history)), mtime=0)
    binary = {
        **(current.get("binaryData") or {}),
        "finding_history": base64.b64encode(packed).decode(),
    }
    return {**current, "binaryData": binary}

"""How the durable state is stored in its ConfigMap, and noted on the Lease.

data.paused         "true" holds all acting; for people, and kept as it is by us
data.landings       "forget" drops how landings compared so far; for people, removed once done
data.demoted        "forget" drops what moves have brought, and with it the demotions of policies
data.selections     "forget" drops what policies were known to select: what they do now is known;
                    also before the first run, whose policies then act at once
data.reset          what people ask to be reset by name: see `resets`
data.budgets        "forget" starts again where the state cannot be believed; likewise
data.checksum       SHA-256 of the bytes below
binaryData.state    gzip of JSON: schemaVersion, fence, sequence, written, follows, history
"""

import base64
import gzip
import hashlib
import zlib
from datetime import datetime
from typing import Any

import msgspec

from rescheduler.model.errors import LedgerFull, LedgerUnreadable
from rescheduler.model.moves.history import History
from rescheduler.wire.inflating import inflate

SCHEMA_VERSION = 1
_MOST_PLAIN = 32 * 2**20
"""Bytes unpacked: many times what a state with room to be stored has; no more is ever unpacked."""
_LEVEL = 6
"""Of compression: twice as fast as the highest, which saves less than 2% of the bytes."""
FORGET = "to forget all budgets and cool-downs on purpose: rescheduler reset state"
RESET = f"restore the newest state; or, {FORGET}."


class StoredState(msgspec.Struct, kw_only=True):
    """What is stored. sequence: grows with every write. written: when, by the server's clock.

    follows: checksums. The Lease recorded one of them: that of the last state or, if that could not
    be noted, of one before it.
    """

    schemaVersion: int = SCHEMA_VERSION
    fence: int
    sequence: int = 0
    written: datetime
    follows: list[str] = []
    history: History


class Note(msgspec.Struct, kw_only=True, frozen=True):
    """What the Lease remembers of the last write; a fence of 0: that the first one is to come."""

    fence: int
    sequence: int
    checksum: str = ""
    written: datetime | None = None


def decode_state(current: dict[str, Any], where: str) -> StoredState | None:
    """What the ConfigMap holds, None where it holds nothing.

    Raises:
        LedgerUnreadable: it is damaged, or newer than we are.
    """
    encoded = packed_in(current)
    if not encoded:
        return None
    try:
        packed = base64.b64decode(encoded, validate=True)
        wanted = (current.get("data") or {}).get("checksum")
        actual = hashlib.sha256(packed).hexdigest()
        if wanted != actual:
            raise LedgerUnreadable(
                f"ConfigMap {where}: checksum {actual} instead of {wanted}", RESET
            )
        plain = inflate(packed, _MOST_PLAIN)
        version = msgspec.json.decode(plain, type=dict[str, Any]).get("schemaVersion")
        if version != SCHEMA_VERSION:
            raise LedgerUnreadable(
                f"ConfigMap {where} has schema {version!r}, this version knows {SCHEMA_VERSION}",
                f"run the version that wrote it; or, {FORGET}.",
            )
        return msgspec.json.decode(plain, type=StoredState)
    except (ValueError, zlib.error, RecursionError, msgspec.MsgspecError) as error:
        raise LedgerUnreadable(f"ConfigMap {where} cannot be decoded: {error}", RESET) from error


def encode_state(state: StoredState) -> bytes:
    """The bytes to store.

    Raises:
        LedgerFull: they could not be read back.
    """
    plain = msgspec.json.encode(state)
    if len(plain) > _MOST_PLAIN:
        raise LedgerFull(
            f"the history of {len(state.history.moves)} moves has {len(plain)} bytes, more than "
            f"the {_MOST_PLAIN} that are ever read",
            "lower movesPerHour.",
        )
    return gzip.compress(plain, _LEVEL, mtime=0)


def fill_config_map(current: dict[str, Any], packed: bytes) -> dict[str, Any]:
    """The ConfigMap with these bytes; what people wrote beside them stays."""
    data = {**(current.get("data") or {}), "checksum": hashlib.sha256(packed).hexdigest()}
    binary = {**(current.get("binaryData") or {}), "state": base64.b64encode(packed).decode()}
    return {**current, "data": data, "binaryData": binary}


def packed_in(current: dict[str, Any]) -> str:
    """The stored bytes as they are in JSON; "" where there are none."""
    return str((current.get("binaryData") or {}).get("state") or "")


def note_of(state: StoredState, packed: str) -> Note:
    """What is noted of a state that is stored as these bytes."""
    return Note(
        fence=state.fence,
        sequence=state.sequence,
        checksum=checksum(packed),
        written=state.written,
    )


def checksum(packed: str) -> str:
    """The SHA-256 of bytes as `packed_in` gives them."""
    return hashlib.sha256(base64.b64decode(packed)).hexdigest()


def note_in(text: str, where: str) -> Note | None:
    """What the Lease remembers, None where it remembers nothing.

    Raises:
        LedgerUnreadable: it is no note of ours.
    """
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=Note)
    except (RecursionError, msgspec.MsgspecError) as error:
        raise LedgerUnreadable(
            f"the Lease's annotation rescheduler.io/ledger on ConfigMap {where} cannot be decoded: "
            f"{error}",
            "remove it and read what the next run reports.",
        ) from error


def drop_forget_request(current: dict[str, Any], key: str) -> tuple[dict[str, Any], bool]:
    """The object without a person's request to forget this, and whether there was one."""
    data = current.get("data") or {}
    if str(data.get(key, "")).strip().lower() != "forget":
        return current, False
    return {**current, "data": {name: data[name] for name in data if name != key}}, True


def paused_in(current: dict[str, Any]) -> bool:
    """Anything but an explicit false holds: a typing error must not let evictions through."""
    value = (current.get("data") or {}).get("paused")
    return value is not None and str(value).strip().lower() != "false"

"""Where the last report is kept for people: a ConfigMap that a component of deploy/ brings.

    data.cycles          JSON: `CycleLog`, the last cycles, which `kubectl` can show too
    binaryData.report    gzip of JSON: the last plan or outcome, where it fits

Nothing decides by it, so it may be deleted or damaged at no risk; where it does not exist, nothing
is kept. Of two writers one gets a conflict and adds its record to what is there then.
"""

import base64
import gzip
import zlib
from typing import Any

import msgspec

from rescheduler.actions.lease import Store
from rescheduler.model.errors import ActionError
from rescheduler.model.kept_cycles import (
    MOST_CYCLES,
    SCHEMA_VERSION,
    CycleLog,
    CycleRecord,
    KeptCycles,
)
from rescheduler.model.moves.plan import Report
from rescheduler.wire.inflating import inflate

MOST_BYTES = 700 * 1024
"""Of the compressed report: a ConfigMap holds 1 MiB in all, and base64 takes a third more."""
_MOST_PLAIN = 128 * 2**20
"""Bytes of a report that are ever inflated."""
_TRIES = 3


class ReportStore:
    """The kept cycles, read and written by compare-and-swap."""

    def __init__(self, store: Store, *, where: str) -> None:
        """where: `namespace/name` of the ConfigMap."""
        self._store = store
        self._where = where

    def read(self) -> KeptCycles | None:
        """What is kept; None where there is no such ConfigMap.

        Raises:
            ActionError: it cannot be read or decoded.
        """
        current = self._store.read()
        if current is None:
            return None
        return KeptCycles(log=self._log_in(current), report=self._report_in(current))

    def keep(self, record: CycleRecord, report: Report | None) -> bool:
        """Add the record of a cycle, and let its report take the place of the last one.

        report: None leaves the last one there. Answers whether there is a ConfigMap to keep it in.

        Raises:
            ActionError: it could not be stored, or it is not known whether it was.
        """
        packed = b"" if report is None else gzip.compress(msgspec.json.encode(report), 6, mtime=0)
        for _ in range(_TRIES):
            current = self._store.read()
            if current is None:
                return False
            if self._store.replace(self._with_record(current, record, packed)) is not None:
                return True
        raise ActionError(
            f"ConfigMap {self._where} changed {_TRIES} times while it was written",
            "check who else writes it.",
        )

    def _with_record(
        self, current: dict[str, Any], record: CycleRecord, packed: bytes
    ) -> dict[str, Any]:
        log = self._readable_log(current)
        omitted = log.omitted
        binary = dict(current.get("binaryData") or {})
        if packed:
            omitted = ""
            binary["report"] = base64.b64encode(packed).decode()
        if len(packed) > MOST_BYTES:
            omitted = (
                f"the last report takes {len(packed) // 1024} KiB, and {MOST_BYTES // 1024} KiB "
                "are kept; `rescheduler plan` shows one as long as it is"
            )
            del binary["report"]
        records = [record, *log.records][:MOST_CYCLES]
        text = msgspec.json.encode(CycleLog(omitted=omitted, records=records))
        data = {**(current.get("data") or {}), "cycles": msgspec.json.format(text).decode()}
        return {**current, "data": data, "binaryData": binary}

    def _readable_log(self, current: dict[str, Any]) -> CycleLog:
        """The records; none where they cannot be decoded, so that the next write mends that."""
        try:
            return self._log_in(current)
        except ActionError:
            return CycleLog()

    def _log_in(self, current: dict[str, Any]) -> CycleLog:
        text = str((current.get("data") or {}).get("cycles") or "")
        if not text:
            return CycleLog()
        try:
            log = msgspec.json.decode(text, type=CycleLog)
        except (ValueError, RecursionError) as error:
            raise self._undecodable(error) from error
        if log.schemaVersion != SCHEMA_VERSION:
            raise ActionError(
                f"ConfigMap {self._where} has schema {log.schemaVersion}, this version knows "
                f"{SCHEMA_VERSION}",
                "use the version that wrote it; the next cycle of `run` begins it again.",
            )
        return log

    def _report_in(self, current: dict[str, Any]) -> Report | None:
        encoded = str((current.get("binaryData") or {}).get("report") or "")
        if not encoded:
            return None
        try:
            plain = inflate(base64.b64decode(encoded, validate=True), _MOST_PLAIN)
            report: Report = msgspec.json.decode(plain, type=Report)
        except (ValueError, EOFError, OSError, RecursionError, zlib.error) as error:
            raise self._undecodable(error) from error
        return report

    def _undecodable(self, error: Exception) -> ActionError:
        return ActionError(
            f"ConfigMap {self._where} cannot be decoded: {error}",
            "nothing to do; the next cycle of `run` writes it again.",
        )

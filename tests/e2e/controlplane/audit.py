"""Reads the API server's audit log: who read and who wrote what."""

import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rescheduler.kube.nesting import decode_json
from tests.e2e.controlplane.api import Api

_READS = frozenset({"get", "list", "watch"})


class _User(msgspec.Struct):
    username: str = ""  # a request whose token was refused (401) has none


class _Reference(msgspec.Struct):
    apiGroup: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct):
    code: int = 0
    reason: str = ""


class Record(msgspec.Struct, frozen=True):
    """One audited request. Its body is there for writes (level Request)."""

    verb: str
    requestURI: str
    user: _User
    stage: str
    requestReceivedTimestamp: str
    stageTimestamp: str
    objectRef: _Reference = msgspec.field(default_factory=_Reference)
    responseStatus: _Status = msgspec.field(default_factory=_Status)
    requestObject: Any = None
    userAgent: str = ""

    @property
    def by(self) -> str:
        """The user's name, as `admin` or `system:serviceaccount:rescheduler:rescheduler`."""
        return self.user.username

    @property
    def code(self) -> int:
        """The HTTP code of the answer."""
        return self.responseStatus.code

    @property
    def resource(self) -> str:
        """The resource with its subresource, as RBAC spells it: `pods/eviction`."""
        reference = self.objectRef
        if reference.subresource:
            return f"{reference.resource}/{reference.subresource}"
        return reference.resource

    @property
    def name(self) -> str:
        """`namespace/name` of the object (the bare name where it has no namespace)."""
        reference = self.objectRef
        named = reference.name or ((self.requestObject or {}).get("metadata") or {}).get("name", "")
        return f"{reference.namespace}/{named}" if reference.namespace else str(named)

    @property
    def writes(self) -> bool:
        """Whether the request could change something (a dry run cannot)."""
        return self.verb not in _READS and "dryRun=" not in self.requestURI


class Records(list[Record]):
    """Audit records in the order of the log, with the questions that tests ask."""

    def by(self, user: str) -> "Records":
        """Those of one user; a user that ends in `*` is a prefix."""
        if user.endswith("*"):
            return Records(r for r in self if r.by.startswith(user[:-1]))
        return Records(r for r in self if r.by == user)

    def writes(self, by: str | None = None) -> "Records":
        """Every request that was no read (of one user)."""
        return Records(r for r in (self if by is None else self.by(by)) if r.writes)

    def reads(self, by: str | None = None) -> "Records":
        """Every get, list and watch (of one user)."""
        return Records(r for r in (self if by is None else self.by(by)) if r.verb in _READS)

    def evictions(self, by: str | None = None) -> "Records":
        """Every POST of pods/eviction, granted or refused: see `code`."""
        return Records(r for r in self.writes(by) if r.resource == "pods/eviction")

    def on(self, *resources: str) -> "Records":
        """Those on the given resources, as `pods`, `pods/eviction`, `leases`."""
        return Records(r for r in self if r.resource in resources)


class Audit:
    """The log of one API server."""

    def __init__(self, path: Path, api: Api) -> None:
        """path: the log file; api: used for a marked read that shows how far the log has come."""
        self._path = path
        self._api = api

    def mark(self) -> int:
        """A place in the log: everything answered before this call stands before it."""
        return self._fence(0)

    def since(self, mark: int = 0) -> Records:
        """Every finished request since `mark` (0: since the start), except the fences."""
        return self.read(mark)[0]

    def read(self, mark: int) -> tuple[Records, int]:
        """Every finished request since `mark`, and the mark from which to read on."""
        end = self._fence(mark)
        with self._path.open("rb") as log:
            log.seek(mark)
            lines = log.read(end - mark).splitlines(keepends=True)
        return Records(_finished(lines)), end

    def _fence(self, start: int) -> int:
        """Make one marked read and wait until the log has it; the place behind it."""
        word = uuid.uuid4().hex
        self._api.request("GET", "/version", params={"fence": word})
        needle = word.encode()
        # A client may have its answer a moment before the server has written the record.
        time.sleep(0.05)
        limit = time.monotonic() + 10
        place = max(start, self._path.stat().st_size - (1 << 20))
        while True:
            with self._path.open("rb") as log:
                log.seek(place)
                text = log.read()
            found = text.find(needle)
            end = text.find(b"\n", found) if found >= 0 else -1
            if end >= 0:
                return place + end + 1
            if time.monotonic() > limit:
                raise TimeoutError(f"the audit log {self._path} did not show a request in 10 s")
            time.sleep(0.02)


def _finished(lines: Iterable[bytes]) -> Iterable[Record]:
    for line in lines:
        if b'"/version?fence=' in line:
            continue
        record = decode_json(line, Record)
        # A watch is logged twice, at its start and at its end: its start counts.
        if record.stage == "ResponseStarted" or record.verb != "watch":
            yield record

"""All of one simulated run: the cluster, its metrics, the processes, and the server's log."""

import base64
import gzip
import hashlib
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from rescheduler.actions.lease import NOTE
from rescheduler.actions.ledger_format import Note, StoredState, note_in
from rescheduler.model.moves.history import History
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.sources.policy_files import load_policies
from tests.simulation.cluster import SimCluster
from tests.simulation.kueue import Kueue
from tests.simulation.metrics import SimMetrics
from tests.simulation.objects import LEASE, STATE, Object
from tests.simulation.process import Cycle, Process
from tests.simulation.virtual_time import Timeline


@dataclass(slots=True)
class Request:
    """A request that reached the API server. at: the true time, in seconds."""

    at: float
    process: str
    method: str
    path: str
    status: int
    body: Object | None


@dataclass
class Universe:
    """One run. servers: the clock offsets of the API servers that answer in turn."""

    seed: int
    text: str
    """The policies, as YAML."""
    servers: list[float] = field(default_factory=lambda: [0.0])
    log: list[Request] = field(default_factory=list)
    cycles: list[Cycle] = field(default_factory=list)
    reached: Counter[str] = field(default_factory=Counter)
    stale: dict[str, bytes] = field(default_factory=dict)
    sender: Process | None = None
    backup: Object | None = None
    """The state, where somebody has deleted it."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.timeline = Timeline()
        self.cluster = SimCluster(self.timeline, self.chance)
        self.kueue: Kueue | None = None
        """What runs gangs, in some universes."""
        self.metrics = SimMetrics(self.timeline, self.cluster, self.chance)
        self.refused: set[str] = set()
        """The paths of pods that may not be read, though others may."""
        self.watchers: list[Any] = []
        """What holds the run against its invariants."""
        self._older: dict[str, tuple[float, bytes]] = {}

    # --- what processes ask for

    def policies(self, fault: str | None) -> PolicySet:
        """The policies as they are loaded now; the fault is one of reading them."""
        if fault == "404":
            return load_policies(Path("/nonexistent/policies"))
        if fault == "empty":
            return load_policies(Path("/dev/null"))
        return parsed(self.text)

    def metrics_answer(self, body: bytes) -> bytes:
        """Prometheus' answer to a query."""
        form = msgspec.json.decode(body)
        time = float(form["time"]) if "time" in form else None
        rows = self.metrics.query(form["query"], time)
        data = {"resultType": "vector", "result": rows}
        return msgspec.json.encode({"status": "success", "data": data})

    def refuses(self, path: str, query: str) -> bool:
        """Whether this read is of a pod that may not be read, by itself or by name in a list."""
        if not self.refused:
            return False
        named = dict(parse_qsl(query)).get("fieldSelector", "").partition("metadata.name=")[2]
        return path in self.refused or f"{path}/{named}" in self.refused

    def pick_server(self) -> float:
        """The clock offset of the server that a load balancer chooses."""
        return self.servers[0] if len(self.servers) == 1 else self.chance.choice(self.servers)

    def remember(self, path: str, payload: bytes) -> None:
        """Keep an older answer to each read, for a server that lags behind."""
        at = self.timeline.seconds
        before = self._older.get(path)
        if before is None or at - before[0] > 60:
            if before is not None:
                self.stale[path] = before[1]
            self._older[path] = (at, payload)

    # --- what is known about them

    def record(
        self, process: Process, method: str, path: str, status: int, body: Object | None
    ) -> None:
        """A request has reached the API server."""
        request = Request(self.timeline.seconds, process.name, method, path, status, body)
        self.log.append(request)
        if method == "GET":
            return
        for watcher in self.watchers:
            watcher.on_request(process, request)

    def seen_by(self, process: Process, phase: str, method: str, path: str, status: int) -> None:
        """An answer has reached a process."""
        for watcher in self.watchers:
            watcher.on_answer(process, phase, method, path, status)

    def leaked(self, process: Process, path: str) -> None:
        """The credentials stand in the body of a request."""
        for watcher in self.watchers:
            watcher.break_("I27", f"{process.name} sent its token to {path}")

    def asks_metrics(self, process: Process) -> None:
        """A process begins to read all metrics."""
        for watcher in self.watchers:
            watcher.on_metrics(process)

    def struck(self, process: Process, phase: str, fault: str) -> None:
        """Something goes wrong for a process."""
        self.reached[f"{fault} at {phase}"] += 1
        self.reached[fault] += 1

    def lost(self, process: Process) -> None:
        """A part of an answer with metrics, or all of it, is lost on its way."""
        for watcher in self.watchers:
            watcher.on_loss(process)

    def stopped(self, process: Process) -> None:
        """A process was asked to stop."""
        for watcher in self.watchers:
            watcher.stopped(process)

    def paused(self) -> None:
        """People hold all acting."""
        for watcher in self.watchers:
            watcher.paused = self.timeline.seconds

    def forbid(self, what: str) -> None:
        """From now on this forbids evictions: `node/NAME`, `owner/UID`, `scaler/UID`, ..."""
        for watcher in self.watchers:
            watcher.since.setdefault(what, self.timeline.seconds)

    def began(self, process: Process) -> None:
        """A process begins a cycle."""
        for watcher in self.watchers:
            watcher.on_begin(process)

    def ended(self, process: Process, cycle: Cycle) -> None:
        """A process has ended a cycle, or was killed in it."""
        self.cycles.append(cycle)
        for watcher in self.watchers:
            watcher.on_end(process, cycle)

    def crashed(self, process: Process, error: Exception) -> None:
        """The program did not foresee an exception."""
        for watcher in self.watchers:
            watcher.break_("I30", f"{process.name} ended by {type(error).__name__}: {error}")

    def state(self) -> StoredState | None:
        """What the ledger holds, read past the program."""
        stored = self.cluster.objects.get(STATE)
        return None if stored is None else self.state_in(stored)

    def noted(self) -> Note | None:
        """What the Lease remembers of the state."""
        stored = self.cluster.objects.get(LEASE, {})
        notes = stored.get("metadata", {}).get("annotations") or {}
        return note_in(notes.get(NOTE, ""), "the state")

    def intended(self, workload: str) -> set[str]:
        """The UIDs of the pods that are to go with this Workload of Kueue, by the ledger."""
        state = self.state()
        moves = [] if state is None else state.history.moves
        return {m.podUid for m in moves if m.state == "intended" and m.stops == workload}

    def state_in(self, stored: Object) -> StoredState:
        """The state in a ConfigMap."""
        encoded = (stored.get("binaryData") or {}).get("state")
        if not encoded:
            return StoredState(fence=0, written=datetime.min.replace(tzinfo=UTC), history=History())
        return _decoded(encoded)

    def back_up(self, lost: Object | None) -> None:
        """Keep the latest state of those that are lost until people put it right."""
        if lost is None:
            return
        kept = self.backup
        if kept is None or self.state_in(lost).sequence > self.state_in(kept).sequence:
            self.backup = lost

    def digest(self) -> str:
        """Stands for the whole run: equal where every request was."""
        said = hashlib.sha256()
        for request in self.log:
            path = request.path if "/events" not in request.path else "/events"
            line = f"{request.at:.3f} {request.process} {request.method} {path} {request.status}\n"
            said.update(line.encode())
        return said.hexdigest()


@lru_cache(maxsize=8)
def _decoded(encoded: str) -> StoredState:
    """Once for all who look at it, as nobody changes it."""
    plain = gzip.decompress(base64.b64decode(encoded))
    return msgspec.json.decode(plain, type=StoredState)


_PARSED: dict[str, PolicySet] = {}


def parsed(text: str) -> PolicySet:
    """The policy set of a text, made once."""
    found = _PARSED.get(text)
    if found is None:
        _PARSED[text] = found = _parse(text)
    return found


def _parse(text: str) -> PolicySet:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return load_policies(Path(file.name))

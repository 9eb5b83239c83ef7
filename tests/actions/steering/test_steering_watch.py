"""The table of replacements is followed as it changes, by the API server's time."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.steering import steering_watch
from rescheduler.actions.steering.steering_format import encode_entries
from rescheduler.actions.steering.steering_watch import SteeringWatch
from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.model.moves.steering_entry import SteeringEntry
from rescheduler.runtime.servers.open_entries import OpenEntries
from tests.fakes.quiet_server import QuietServer

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ENTRY = SteeringEntry(
    owner="rs-1",
    namespace="default",
    hostnames=("n5", "n6"),
    strength="Require",
    deadline=NOW + timedelta(seconds=90),
    plan="p",
    pod="old-1",
)
TABLE = {"metadata": {"resourceVersion": "7"}, "data": encode_entries([ENTRY])}


@dataclass
class Answering:
    """An API server that lists `table`, and answers each watch with `events`, and ends it."""

    events: bytes = b""
    table: Any = field(default_factory=lambda: TABLE)
    lists: int = 0
    watches: int = 0
    url: str = ""

    def client(self) -> ApiClient:
        return ApiClient(Configuration(host=self.url))


@contextmanager
def answering(made: Answering) -> Iterator[Answering]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = {"items": [made.table], "metadata": {"resourceVersion": "7"}}
            watch = "watch=1" in self.path
            made.watches, made.lists = made.watches + watch, made.lists + (not watch)
            self.send_response_only(200)
            self.send_header("Date", format_datetime(NOW, usegmt=True))
            self.end_headers()
            self.wfile.write(made.events if watch else json.dumps(body).encode())

        def log_message(self, *_: object) -> None: ...

    server = QuietServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def watching(made: Answering, clock: ServerClock, entries: OpenEntries) -> Iterator[SteeringWatch]:
    with answering(made):
        watch = SteeringWatch(made.client(), "rescheduler", entries.replace, clock)
        watch.start()
        try:
            yield watch
        finally:
            watch.stop()


def eventually(found: Callable[[], bool]) -> bool:
    until = time.monotonic() + 8
    while not found() and time.monotonic() < until:
        time.sleep(0.01)
    return found()


@pytest.mark.parametrize("ahead", [timedelta(minutes=2), -timedelta(minutes=2), timedelta(0)])
def test_deadlines_are_those_of_the_clock_that_set_them(ahead: timedelta) -> None:
    """The host's own clock is wrong by minutes; an entry lasts about one."""
    clock = ServerClock(wall=lambda: NOW + ahead)
    entries = OpenEntries(clock.now)
    owner = OwnerReference(kind="ReplicaSet", name="web", uid="rs-1", controller=True)
    with watching(Answering(), clock, entries):
        assert eventually(lambda: entries.version == "7")
        made = entries.take(ObjectMeta(ownerReferences=[owner]), "new-1", namespace="default")
    assert made == ENTRY


ERROR = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410}}\n'


@pytest.mark.parametrize("events", [b"", ERROR], ids=["ends", "error"])
def test_a_watch_that_ends_at_once_is_begun_again_after_a_pause(events: bytes) -> None:
    """A proxy that keeps no connection open is not to be asked hundreds of times a second."""
    made, clock = Answering(events), ServerClock()
    with watching(made, clock, OpenEntries(clock.now)) as watch:
        assert eventually(lambda: made.watches == 1)
        time.sleep(0.5)
        assert made.lists == 1
        assert eventually(lambda: made.watches == 2)
    assert watch.problem == ""


ODD = [
    b"<html>proxy</html>\n",
    b'{"type": "MODIFIED", "object": {"metadata": [1]}}\n',
    b'{"type": "MODIFIED", "object": {"metadata": "x", "data": {}}}\n',
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a watch does after its pause is looked at, and not how long that is."""
    monkeypatch.setattr(steering_watch, "_PAUSE", 0.05)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("events", ODD)
def test_what_cannot_be_read_is_told_and_followed_on(events: bytes) -> None:
    """A thread that ended would leave the table as it was, and nobody would know."""
    made, clock, entries = Answering(events), ServerClock(), OpenEntries(ServerClock().now)
    with watching(made, clock, entries) as watch:
        assert eventually(lambda: made.watches > 0 and watch.problem != "")
        made.events = b""
        made.table = {**TABLE, "metadata": {"resourceVersion": "8"}}
        assert eventually(lambda: entries.version == "8")
        assert eventually(lambda: watch.problem == "")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("table", [{"metadata": []}, "odd", {"metadata": {}, "data": {1: []}}])
def test_a_list_of_another_shape_is_told_or_nothing(table: Any) -> None:
    made, entries = Answering(table=table), OpenEntries(ServerClock().now)
    with watching(made, ServerClock(), entries) as watch:
        assert eventually(lambda: made.lists > 0)
        made.table = TABLE
        assert eventually(lambda: entries.version == "7")
        assert eventually(lambda: watch.problem == "")

"""A fake API server in this process: the HTTP face of a `World`, with faults on demand."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

from kubernetes.client import ApiClient, Configuration

from tests.fakes.manners import Reply, status
from tests.fakes.quiet_server import QuietServer
from tests.fakes.world import World

Kind = Literal["drop-before", "drop-after", "hang", "garbage"] | int


@dataclass
class Fault:
    """What goes wrong with the next `times` requests that match; an int is a bare HTTP status."""

    method: str
    path: str
    kind: Kind
    times: int = 1
    message: str = "injected"
    retry_after: int | None = None


@dataclass
class FakeServer:
    """A running server: its world, its faults, and every request that reached it."""

    world: World
    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, Any] | None, dict[str, str]]] = field(
        default_factory=list
    )
    hang: float = 0.6
    guard: threading.Lock = field(default_factory=threading.Lock)

    def client(self) -> ApiClient:
        """The real Kubernetes client, pointed at this server."""
        configuration = Configuration(host=self.url)
        configuration.api_key = {"BearerToken": "Bearer secret-token"}
        return ApiClient(configuration)

    def sent(self, method: str, path: str) -> list[dict[str, Any] | None]:
        """The bodies of the requests with that method whose path holds that text."""
        return [body for m, p, body, _ in self.requests if m == method and path in p]

    def fault(self, method: str, path: str) -> Fault | None:
        """The fault that this request meets, used up by one."""
        for fault in self.faults:
            if fault.times > 0 and fault.method == method and fault.path in path:
                fault.times -= 1
                return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeServer

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        body = json.loads(raw) if raw else None
        with self.fake.guard:
            self.fake.requests.append((self.command, self.path, body, dict(self.headers)))
            fault = self.fake.fault(self.command, self.path)
        if fault is not None and fault.kind in ("drop-before", "hang"):
            if fault.kind == "hang":
                time.sleep(self.fake.hang)
            self.close_connection = True
            return
        if fault is not None and isinstance(fault.kind, int):
            details = {"retryAfterSeconds": fault.retry_after} if fault.retry_after else {}
            self._answer(status(fault.kind, "Injected", fault.message, **details))
            return
        with self.fake.guard:
            reply = self.fake.world.handle(self.command, self.path, body)
        if fault is not None and fault.kind == "drop-after":
            self.close_connection = True
            return
        self._answer(reply, b"<html>" if fault is not None else None)

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def _answer(self, reply: Reply, raw: bytes | None = None) -> None:
        code, body, headers = reply
        data = json.dumps(body, default=str).encode() if raw is None else raw
        self.send_response_only(code)
        now = format_datetime(self.fake.world.now(), usegmt=True)
        for key, value in {**headers, "Date": now, "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(world: World | None = None) -> Iterator[FakeServer]:
    """Serve a world on a free loopback port until the block ends."""
    fake = FakeServer(world or World(lambda: datetime.now(UTC)))
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = QuietServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A small HTTP server on loopback whose answers a test decides, request by request."""

import contextlib
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.fakes.quiet_server import QuietServer


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: str = ""


@dataclass
class Reply:
    """hang: silence before the answer, until it is set. drip: seconds before each byte of it."""

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: threading.Event | None = None
    cut: bool = False
    drip: float = 0.0


@dataclass
class Served:
    url: str
    requests: list[Request]


@contextlib.contextmanager
def serving(
    answer: Callable[[Request], Reply], tls: ssl.SSLContext | None = None
) -> Iterator[Served]:
    """Serve until the block ends; every request is kept."""
    kept: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet an answer, or Nagle's algorithm costs 40 ms each

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            form = self.rfile.read(length).decode()
            parts = urlsplit(self.path)
            query = {k: v[0] for k, v in parse_qs(parts.query or form).items()}
            request = Request(
                self.command,
                parts.path,
                query,
                {k.lower(): v for k, v in self.headers.items()},
                form,
            )
            kept.append(request)
            reply = answer(request)
            if reply.hang is not None:
                reply.hang.wait(10)
            self.send_response_only(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            body = reply.body[: len(reply.body) // 2] if reply.cut else reply.body
            if reply.drip:
                self._drip(body, reply.drip)
                return
            self.wfile.write(body)
            if reply.cut:
                self.close_connection = True

        def _drip(self, body: bytes, pause: float) -> None:
            with contextlib.suppress(OSError):  # the other side has gone, as it should
                for byte in body:
                    self.wfile.flush()
                    time.sleep(pause)
                    self.wfile.write(bytes([byte]))

        do_GET = do_POST = _serve

        def log_message(self, *args: object) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield Served(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}", kept)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

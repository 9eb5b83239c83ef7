"""The exporter's two HTTP servers: pages for Prometheus, and the switch for faults."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from tests.e2e.exporter.faults import JOBS, Faults
from tests.e2e.exporter.pages import Pages

# Longer than any scrape waits.
_HANG = 30.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class _Quiet(BaseHTTPRequestHandler):
    """Answers without a line on stderr for each request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def answer(self, code: int, body: bytes, content_type: str = _TEXT) -> None:
        """One whole answer."""
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def metrics_server(port: int, pages: Pages, woken: threading.Event) -> ThreadingHTTPServer:
    """`/metrics/<job>` on loopback; `woken` ends the waits of a target that hangs."""

    class Handler(_Quiet):
        def do_GET(self) -> None:
            job = self.path.removeprefix("/metrics/")
            if job not in JOBS:
                self.answer(404, b"no such job\n")
                return
            target = pages.faults.of(job).target
            if target == "up":
                self.answer(200, pages.render(job))
            elif target == "error":
                self.answer(500, b"a fault of the test\n")
            elif target == "empty":
                self.answer(200, b"")
            else:
                if target == "hang":
                    woken.wait(_HANG)
                self.close_connection = True

    return _server(port, Handler)


def control_server(port: int, pages: Pages) -> ThreadingHTTPServer:
    """PUT `/faults` (JSON of Faults), GET `/faults`, GET `/healthz`."""

    class Handler(_Quiet):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self.answer(200, b"")
            else:
                self.answer(200, msgspec.json.encode(pages.faults), "application/json")

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                pages.faults = msgspec.json.decode(body, type=Faults)
            except msgspec.ValidationError as error:
                self.answer(400, str(error).encode())
                return
            self.answer(200, b"")

    return _server(port, Handler)


def _server(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

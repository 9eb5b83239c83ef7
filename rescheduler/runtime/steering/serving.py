"""A server that answers JSON with JSON, quickly, on connections that stay open; with TLS or not."""

import contextlib
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.logs import logger

MOST_BODY = 8 * 2**20
"""Bytes of one request, unless more are to be expected."""
MOST_CONNECTIONS = 128
HASTE = 5.0
"""Seconds for a handshake, and for the first request of a connection."""
PATIENCE = 300.0
"""Seconds that a connection may be idle; kube-scheduler and the API server keep theirs open."""

Answer = Callable[[bytes], bytes]
"""Answers the body of a request. Raises ValueError where it is not what it should be."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.context: ssl.SSLContext | None = None
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False):
            self._hang_up(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            if self.context is not None:
                # In the connection's own thread, so that a silent client keeps nobody waiting.
                request.settimeout(HASTE)
                request = self.context.wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except OSError:
            self._hang_up(request)
        finally:
            self._slots.release()

    def _hang_up(self, request: Any) -> None:
        with contextlib.suppress(OSError):
            self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        error = sys.exception()
        if not isinstance(error, OSError):
            logger().error("a request was not served", error=f"{type(error).__name__}: {error}")


class _Server6(_Server):
    address_family = socket.AF_INET6


class JsonServer:
    """Serves `answers` by path, each to POST, and a probe at /healthz, in threads of its own.

    observe: is told the path, the status and the seconds of each answer.
    """

    def __init__(
        self,
        listen: str,
        answers: Mapping[str, Answer],
        *,
        healthy: Callable[[], str],
        metrics: Callable[[], bytes] = lambda: b"",
        observe: Callable[[str, int, float], None] = lambda *_: None,
        context: ssl.SSLContext | None = None,
        most_body: int = MOST_BODY,
    ) -> None:
        """listen: `host:port`. healthy: what is wrong, or "". most_body: bytes of a request.

        Raises:
            SettingsError: the address cannot be used.
        """
        host, colon, port = listen.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise SettingsError(
                f"--listen {listen!r} is not an address", "write it as 127.0.0.1:8888."
            )
        kind = _Server6 if ":" in host else _Server
        handler = _handler(answers, healthy, metrics, observe, most_body)
        try:
            self._server = kind((host.strip("[]") or "0.0.0.0", int(port)), handler)  # noqa: S104
        except OSError as error:
            raise SettingsError(
                f"--listen {listen} cannot be used: {error.strerror}",
                "choose another port; 0 takes a free one.",
            ) from error
        self._server.context = context
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def present(self, context: ssl.SSLContext) -> None:
        """Use another certificate for connections to come."""
        self._server.context = context

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and give the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(
    answers: Mapping[str, Answer],
    healthy: Callable[[], str],
    metrics: Callable[[], bytes],
    observe: Callable[[str, int, float], None],
    most_body: int,
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "rescheduler"
        sys_version = ""
        disable_nagle_algorithm = True
        timeout = HASTE

        def do_GET(self) -> None:
            if self.path == "/healthz":
                problem = healthy()
                self._send(503 if problem else 200, (problem or "ok").encode(), "text/plain")
            elif self.path == "/metrics":
                self._send(200, metrics(), "text/plain; version=0.0.4")
            else:
                self._send(404, b"not found\n", "text/plain")

        def do_POST(self) -> None:
            began = time.perf_counter()
            answer = answers.get(self.path.partition("?")[0])
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > most_body:
                # What follows of the body would be read as the next request.
                self.close_connection = True
                self._send(413 if length.isdigit() else 411, b"no usable length\n", "text/plain")
                return
            body = self.rfile.read(int(length))
            if answer is None:
                self._send(404, b"not found\n", "text/plain")
                return
            status, made = _answered(answer, body)
            self._send(status, made, "application/json" if status == 200 else "text/plain")
            observe(self.path, status, time.perf_counter() - began)

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.connection.settimeout(PATIENCE)

        def log_message(self, *args: object) -> None:
            """A scheduler asks twice for each pod; that is not news."""

    return Handler


def _answered(answer: Answer, body: bytes) -> tuple[int, bytes]:
    try:
        return 200, answer(body)
    except ValueError as error:
        return 400, f"{error}\n".encode()
    except Exception as error:  # noqa: BLE001 - the edge
        logger().error("a request was not answered", error=f"{type(error).__name__}: {error}")
        return 500, b"see the log\n"

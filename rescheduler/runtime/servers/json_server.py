"""A server that answers JSON with JSON, quickly, on connections that stay open; with TLS or not."""

import hmac
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler

from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.listening import Listening, Server

MOST_BODY = 8 * 2**20
"""Bytes of one request, unless more are to be expected."""
MOST_CONNECTIONS = 128
HASTE = 5.0
"""Seconds for a handshake, and for the first request of a connection; and how long one may be idle
once there are as many as may be."""
PATIENCE = 300.0
"""Seconds that a connection may be idle; kube-scheduler and the API server keep theirs open."""

Answer = Callable[[bytes], bytes]
"""Answers the body of a request. Raises ValueError where it is not what it should be."""


class JsonServer(Listening):
    """Serves `answers` by path, each to POST, and a probe at /healthz, in threads of its own.

    observe: is called with the path, the status and the seconds of each answer.
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
        super().__init__(
            listen,
            _handler(answers, healthy, metrics, observe, most_body),
            most=MOST_CONNECTIONS,
            patience=HASTE,
            example="127.0.0.1:8888",
        )
        self.server.context = context

    def expect(self, secret: Callable[[], str]) -> None:
        """Answer only where this follows the path, `/path/SECRET`; "" is nothing."""
        self.server.secret = secret

    def present(self, context: ssl.SSLContext) -> None:
        """Use another certificate for connections to come."""
        self.server.context = context


def _handler(
    answers: Mapping[str, Answer],
    healthy: Callable[[], str],
    metrics: Callable[[], bytes],
    observe: Callable[[str, int, float], None],
    most_body: int,
) -> type[BaseHTTPRequestHandler]:
    class JsonHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "rescheduler"
        sys_version = ""
        disable_nagle_algorithm = True
        timeout = HASTE
        server: Server

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
            self.server.heard_of(self.connection)
            path = _path_without_secret(self.path.partition("?")[0], self.server.secret())
            if path is None or not _has_certificate(self.connection):
                self.close_connection = True
                self._send(403, b"who asks has to show that it may\n", "text/plain")
                return
            answer = answers.get(path)
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
            status, made = _run_answer(answer, body)
            self._send(status, made, "application/json" if status == 200 else "text/plain")
            observe(path, status, time.perf_counter() - began)

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.server.heard_of(self.connection)
            self.wfile.write(body)
            self.connection.settimeout(PATIENCE)

        def log_message(self, *args: object) -> None:
            """A scheduler asks twice for each pod; that is not news."""

    return JsonHandler


def _path_without_secret(path: str, secret: str) -> str | None:
    """The path without the secret at its end; None where it is not there."""
    if not secret:
        return path
    path, _, client_secret = path.rpartition("/")
    return path if hmac.compare_digest(client_secret.encode(), secret.encode()) else None


def _has_certificate(connection: socket.socket) -> bool:
    """Whether the client has a certificate, where the TLS asks for one."""
    if not isinstance(connection, ssl.SSLSocket):
        return True
    return connection.context.verify_mode == ssl.CERT_NONE or bool(connection.getpeercert())


def _run_answer(answer: Answer, body: bytes) -> tuple[int, bytes]:
    try:
        return 200, answer(body)
    except ValueError as error:
        return 400, f"{error}\n".encode()
    except Exception as error:  # noqa: BLE001 - the edge
        logger().error("a request was not answered", error=f"{type(error).__name__}: {error}")
        return 500, b"see the log\n"

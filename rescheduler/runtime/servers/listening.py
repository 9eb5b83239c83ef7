"""Listening for HTTP on an address: limited connections; idle ones make room for new ones."""

import contextlib
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.logs import logger

_STOPS_WITHIN = 0.1
"""Seconds after which a server sees that it is to stop."""


class Server(ThreadingHTTPServer):
    """A thread for each connection, but no more than so many at a time.

    most: connections at a time. patience: seconds for a handshake; and how long a connection may
    have said nothing before it makes room for another, once there are as many as may be.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        *,
        most: int,
        patience: float,
    ) -> None:
        self.context: ssl.SSLContext | None = None
        self.secret: Callable[[], str] = lambda: ""
        self._most = most
        self._patience = patience
        self._lock = threading.Lock()
        self._heard: dict[socket.socket, float] = {}
        super().__init__(address, handler)

    def heard_of(self, connection: socket.socket) -> None:
        """A request on the connection begins or is answered."""
        with self._lock:
            if connection in self._heard:
                self._heard[connection] = time.monotonic()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve the connection in a thread, or hang up where too many are open.

        Those that were silent for too long are hung up on first: a client that keeps connections,
        or sends a byte now and then, must not keep the probes of the kubelet out.
        """
        with self._lock:
            if len(self._heard) >= self._most:
                self._make_room()
            full = len(self._heard) >= self._most
            if not full:
                self._heard[request] = time.monotonic()
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def _make_room(self) -> None:
        last = time.monotonic() - self._patience
        for stale_connection in [
            connection for connection, heard in self._heard.items() if heard < last
        ]:
            del self._heard[stale_connection]
            with contextlib.suppress(OSError):
                # Not that of TLS, which would leave its thread without any.
                socket.socket.shutdown(stale_connection, socket.SHUT_RDWR)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Shake hands where there is TLS, and serve."""
        if self.context is not None:
            # In the connection's own thread, so that a silent client keeps nobody waiting.
            try:
                request = self._wrap_tls(request, self.context)
                request.do_handshake()
            except OSError:
                self.shutdown_request(request)
                return
        super().process_request_thread(request, client_address)

    def _wrap_tls(self, request: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
        request.settimeout(self._patience)
        with self._lock:  # as the old socket is no longer one
            heard = self._heard.pop(request, None)
            made = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
            if heard is not None:
                self._heard[made] = heard
        return made

    def shutdown_request(self, request: Any) -> None:
        """Close the connection, and make room for the next one."""
        with self._lock:
            self._heard.pop(request, None)
        with contextlib.suppress(OSError):
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A client that hangs up is not worth a traceback; anything else is one line of the log."""
        error = sys.exception()
        if not isinstance(error, OSError):
            logger().error("a request was not served", error=f"{type(error).__name__}: {error}")


class _Server6(Server):
    address_family = socket.AF_INET6


class Listening:
    """Such a server in a thread of its own."""

    def __init__(
        self,
        listen: str,
        handler: type[BaseHTTPRequestHandler],
        *,
        most: int,
        patience: float,
        example: str,
    ) -> None:
        """listen: `host:port`. example: of such an address. The others are as for `Server`.

        Raises:
            SettingsError: the address cannot be used.
        """
        host, colon, port = listen.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise SettingsError(f"--listen {listen!r} is not an address", f"write it as {example}.")
        kind = _Server6 if ":" in host else Server
        address = (host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - as `:8080` means
        try:
            self.server = kind(address, handler, most=most, patience=patience)
        except OSError as error:
            raise SettingsError(
                f"--listen {listen} cannot be used: {error.strerror}",
                "choose another port; 0 takes a free one.",
            ) from error
        self._thread = threading.Thread(
            target=self.server.serve_forever, args=(_STOPS_WITHIN,), daemon=True
        )

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.server.server_address[1])

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and give the port back."""
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

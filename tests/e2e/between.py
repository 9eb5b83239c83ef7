"""A proxy between the program and the API server, which can act right before or after a request."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import create_default_context
from typing import Literal
from urllib.parse import urlsplit

import yaml

When = Literal["before", "after"]
_HOP = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
_KINDS = {"leases": "lease", "configmaps": "state", "eviction": "eviction", "events": "event"}
_READS = frozenset({"GET", "HEAD"})


class Cut(Exception):
    """The connection shall end here, without an answer."""


class Spoiled(Exception):
    """The request shall not be passed on, and be answered by this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Effect:
    """One write that came: the `nth` of its kind (lease, state, eviction, event), from 1."""

    kind: str
    nth: int


Hook = Callable[[Effect, When], None]
"""Called right before a write is passed on, and right after it was answered. May raise `Cut`, or
`Spoiled` before."""


class Between:
    """Passes everything on, and calls `hook` around every write.

    The program speaks plain HTTP with it, on loopback; it speaks TLS with the API server.
    """

    def __init__(self, upstream: str, authority: Path) -> None:
        """Start in front of the API server `upstream`, whose certificate `authority` has signed."""
        self.hook: Hook | None = None
        self.effects: list[Effect] = []
        """Every write that came since `forget`, in order."""
        self._counts: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._upstream = urlsplit(upstream)
        self._context = create_default_context(cafile=str(authority))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def kubeconfig(self, original: Path, path: Path) -> Path:
        """That kubeconfig with this proxy for a server, written to `path`."""
        config = yaml.safe_load(original.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["server"] = self.url
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        path.chmod(0o600)
        return path

    def forget(self, hook: Hook | None = None) -> None:
        """Count from 1 again, with this hook."""
        with self._guard:
            self.hook = hook
            self.effects = []
            self._counts = Counter()

    def connect(self) -> HTTPSConnection:
        """A connection to the API server."""
        host, port = str(self._upstream.hostname), self._upstream.port
        return HTTPSConnection(host, port, timeout=60, context=self._context)

    def coming(self, method: str, path: str) -> Effect | None:
        """Count a request that has come; None for a read."""
        if method in _READS:
            return None
        parts = urlsplit(path).path.split("/")
        kind = next((_KINDS[part] for part in reversed(parts) if part in _KINDS), "other")
        with self._guard:
            self._counts[kind] += 1
            effect = Effect(kind, self._counts[kind])
            self.effects.append(effect)
        return effect

    def call(self, effect: Effect | None, when: When) -> None:
        """Let the hook act on a write."""
        hook = self.hook
        if effect is not None and hook is not None:
            hook(effect, when)

    def stop(self) -> None:
        """End it; what was passed on already goes its way."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(between: Between) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # The head and the body of an answer are two packets, which must not wait for each other.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self._behind = between.connect()

        def finish(self) -> None:
            self._behind.close()
            super().finish()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            effect = between.coming(self.command, self.path)
            try:
                between.call(effect, "before")
                headers = {k: v for k, v in self.headers.items() if k.lower() not in _HOP}
                self._behind.request(self.command, self.path, body, headers)
                with self._behind.getresponse() as answer:
                    text, code = answer.read(), answer.status
                    kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in _HOP]
                between.call(effect, "after")
                self._answer(code, kept, text)
            except Spoiled as spoiled:
                self._answer(spoiled.code, [], b"")
            except (Cut, HTTPException, OSError):
                self.close_connection = True

        def _answer(self, code: int, headers: list[tuple[str, str]], body: bytes) -> None:
            # Without the Date and Server of this proxy: the API server's are among the headers.
            self.send_response_only(code)
            for key, value in headers:
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    return Handler

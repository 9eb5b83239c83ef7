"""A proxy between the program and a server, which can act around a request or spoil its answer."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from ssl import create_default_context
from struct import pack
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import yaml

from rescheduler.runtime.report_keeping import LAST_REPORT

When = Literal["before", "after"]
_HOP = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
_KINDS = {"leases": "lease", "configmaps": "state", "eviction": "eviction", "events": "event"}
_READS = frozenset({"GET", "HEAD"})


class Cut(Exception):
    """The connection shall end here, without an answer."""


class Silent(Exception):
    """The connection shall stay open, and nothing be answered."""


class Spoiled(Exception):
    """The request shall not be passed on, and be answered by this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Effect:
    """One write that came: the `nth` of its kind, as lease, state, eviction, event, from 1."""

    kind: str
    nth: int


Hook = Callable[[Effect, When], None]
"""Called right before a write is passed on, and right after it was answered. May raise `Cut`, or
`Spoiled` before."""


class Asked(NamedTuple):
    """A request as it came. path: with its query."""

    method: str
    path: str
    body: bytes


class Reply(NamedTuple):
    """An answer as it shall be sent. missing: bytes of the body that are promised and never sent.

    pause: seconds before each byte of the body.
    """

    code: int
    headers: list[tuple[str, str]]
    body: bytes
    missing: int = 0
    pause: float = 0.0


PassOn = Callable[[Asked], Reply]
"""Passes a request on to the server behind, and answers its answer."""
Trouble = Callable[[Asked, PassOn], Reply]
"""What happens to a request instead. May raise `Cut` or `Silent`, before it was passed on or
after."""


class Between:
    """Passes everything on, calls `hook` around every write, and lets `trouble` spoil a request.

    The program speaks plain HTTP with it, on loopback; it speaks TLS with an API server.
    """

    def __init__(self, upstream: str, authority: Path | None = None) -> None:
        """Start in front of `upstream`: with `authority`, which has signed its certificate, TLS."""
        self.hook: Hook | None = None
        self.trouble: Trouble | None = None
        self.effects: list[Effect] = []
        """Every write that came since `forget`, in order."""
        self.paths: set[str] = set()
        """Every path that was asked for."""
        self._counts: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._upstream = urlsplit(upstream)
        self._context = create_default_context(cafile=str(authority)) if authority else None
        self.over = threading.Event()
        """Set once it ends, so that what is silent wakes up."""
        self.refusing = False
        self._handler = type("Handler", (_Handler,), {"between": self})
        self._listen(0)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _listen(self, port: int) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler)
        self._server.daemon_threads = True
        # Not joined by `server_close`, as what is silent would hold it up.
        self._server.block_on_close = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def refuse(self) -> None:
        """Refuse every connection from now on, and cut those that there are."""
        self.refusing = True
        self._close()

    def accept(self) -> None:
        """Take connections again."""
        if self.refusing:
            self._listen(int(self._server.server_address[1]))
            self.refusing = False

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

    def connect(self) -> HTTPConnection:
        """A connection to the server behind."""
        host, port = str(self._upstream.hostname), self._upstream.port
        if self._context is None:
            return HTTPConnection(host, port, timeout=60)
        return HTTPSConnection(host, port, timeout=60, context=self._context)

    def coming(self, method: str, path: str) -> Effect | None:
        """Count a request that has come; None for a read, and for a report that decides nothing."""
        parts = urlsplit(path).path.split("/")
        if method in _READS or parts[-1] == LAST_REPORT:
            return None
        kind = next((_KINDS[part] for part in reversed(parts) if part in _KINDS), "other")
        if kind == "eviction" and urlsplit(path).query:
            kind = "dry run"
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
        self.over.set()
        if not self.refusing:
            self._close()

    def _close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    between: Between
    protocol_version = "HTTP/1.1"
    # The head and the body of an answer are two packets, which must not wait for each other.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._behind = self.between.connect()

    def finish(self) -> None:
        self._behind.close()
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked, trouble = Asked(self.command, self.path, body), self.between.trouble
        if self.between.refusing:
            self._reset()
            return
        self.between.paths.add(self.path)
        try:
            self._answer(self._fetch(asked) if trouble is None else trouble(asked, self._fetch))
        except Spoiled as spoiled:
            self._answer(Reply(spoiled.code, [], b""))
        except Silent:
            self.between.over.wait(120)
            self.close_connection = True
        except (Cut, HTTPException, OSError):
            self._reset()

    def _fetch(self, asked: Asked) -> Reply:
        effect = self.between.coming(asked.method, asked.path)
        self.between.call(effect, "before")
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _HOP}
        self._behind.request(asked.method, asked.path, asked.body or None, headers)
        with self._behind.getresponse() as answer:
            text, code = answer.read(), answer.status
            kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in _HOP]
        self.between.call(effect, "after")
        return Reply(code, kept, text)

    def _answer(self, reply: Reply) -> None:
        # Without the Date and Server of this proxy: the API server's are among the headers.
        self.send_response_only(reply.code)
        for key, value in reply.headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(reply.body) + reply.missing))
        self.end_headers()
        if reply.pause:
            for byte in reply.body:
                if self.between.over.wait(reply.pause):
                    break
                self.wfile.write(bytes([byte]))
        else:
            self.wfile.write(reply.body)
        if reply.missing:
            self._reset()

    def _reset(self) -> None:
        """End the connection by a reset, not by a polite end."""
        self.close_connection = True
        self.connection.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
        self.rfile.close()  # it holds the socket open
        self.connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

"""The HTTP endpoints of the service: probes, metrics, and the last report."""

from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler

from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.front_page import FrontPage
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.kubernetes_access import right_for
from rescheduler.runtime.servers.listening import Listening
from rescheduler.runtime.servers.past_cycles import PATH, PastCycles
from rescheduler.runtime.servers.reader_check import ReaderCheck
from rescheduler.runtime.servers.telemetry import Telemetry

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Page = tuple[int, str, bytes]
"""Status, content type, body."""

_READY = "/readyz"
PROBES = frozenset({"/livez", _READY})
"""Open to everybody, as the kubelet has no token. Why we are not ready may name pods and addresses,
so only who shows a token reads it."""
_REFUSALS = {
    401: b"a token is needed\n",
    403: b"this token has no right to see it\n",
    503: b"rights cannot be reviewed now; see the log\n",
}
_SEE_THE_LOG = b"not ready; see the log\n"

MOST_CONNECTIONS = 16
"""Connections that are served at a time; anybody who comes on top of them is hung up on."""
PATIENCE = 10.0
"""Seconds for one read from a client, and for a connection once too many are open."""


class Endpoints(Listening):
    """A read-only HTTP server in a thread of its own."""

    def __init__(
        self,
        listen: str,
        pages: Mapping[str, Callable[[], Page]],
        access: ReaderCheck | None = None,
    ) -> None:
        """listen: `host:port`. pages: what answers each path. access: who may see all but probes.

        Raises:
            SettingsError: the address cannot be used.
        """
        super().__init__(
            listen,
            _handler(pages, access),
            most=MOST_CONNECTIONS,
            patience=PATIENCE,
            example="127.0.0.1:8080",
        )


def _handler(
    pages: Mapping[str, Callable[[], Page]], access: ReaderCheck | None
) -> type[BaseHTTPRequestHandler]:
    class PageHandler(BaseHTTPRequestHandler):
        server_version = "rescheduler"
        sys_version = ""
        timeout = PATIENCE  # a silent client must not hold a thread for ever

        def refuse(self, path: str) -> int:
            shown = self.headers.get_all("Authorization") or []
            return 0 if access is None else access.refuse(path, shown)

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            refusal = 0 if path in PROBES else self.refuse(path)
            if refusal:
                status, kind, body = refusal, "text/plain", _REFUSALS[refusal]
            else:
                page = pages.get(path)
                status, kind, body = _answer(page) if page else (404, "text/plain", b"not found\n")
                if path == _READY and status != 200 and self.refuse(path):
                    body = _SEE_THE_LOG
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="rescheduler"')
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *args: object) -> None:
            """Probes ask every few seconds; that is not news."""

    return PageHandler


def _answer(page: Callable[[], Page]) -> Page:
    """The page, or a bare 500 with the reason in the log: no client needs to know our insides."""
    try:
        return page()
    except Exception as error:  # noqa: BLE001 - the edge
        logger().error("a page cannot be made", error=f"{type(error).__name__}: {error}")
        return 500, "text/plain", b"the page cannot be made; see the log\n"


def text(problem: str) -> Page:
    """The answer of a probe: 200 while there is no problem, else 503 and the problem."""
    return (503, "text/plain", f"{problem}\n".encode()) if problem else (200, "text/plain", b"ok\n")


def pages(
    health: CycleHealth, telemetry: Telemetry, front: FrontPage, past: PastCycles
) -> Mapping[str, Callable[[], Page]]:
    """The pages by path. past: the cycles before the last one."""
    fixed: dict[str, Callable[[], Page]] = {
        "/livez": lambda: text(health.live()),
        _READY: lambda: text(health.ready()),
        "/metrics": lambda: (200, "text/plain; version=0.0.4", telemetry.text()),
        "/": lambda: (200, "text/html", front.render()),
    }
    return _Pages(fixed, past, front)


class _Pages(Mapping[str, Callable[[], Page]]):
    """The pages that are always there, those of past cycles, and the sections of namespaces."""

    def __init__(
        self, fixed: Mapping[str, Callable[[], Page]], past: PastCycles, front: FrontPage
    ) -> None:
        self._fixed, self._past, self._front = fixed, past, front

    def __getitem__(self, path: str) -> Callable[[], Page]:
        if path in self._fixed:
            return self._fixed[path]
        namespace = right_for(path).namespace
        if namespace:
            return lambda: (200, "text/html", self._front.render_section(namespace))
        page = self._past.page(path)
        if page is None:
            raise KeyError(path)
        return lambda: (200, "text/html", page())

    def __iter__(self) -> Iterator[str]:
        return iter([*self._fixed, PATH])

    def __len__(self) -> int:
        return len(self._fixed) + 1

"""The network of a simulated process: what the real clients send arrives here.

It stands where `urllib3` and `requests` would open a connection, so that encoding, decoding, time
limits, retries and every check of an answer are the program's own.
"""

import math
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from http.client import responses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlencode

import msgspec
import requests
import urllib3

from tests.simulation.objects import takes_pods

if TYPE_CHECKING:
    from tests.simulation.process import Process

APISERVER, PROMETHEUS = "http://apiserver:8001", "http://prometheus:9090"
LATENCY = 0.02
_APF = {"Retry-After": "1"}


class Answer:
    """An HTTP answer as both client libraries present one.

    pace: seconds that each byte of the body takes, for a server that drips.
    """

    def __init__(
        self, process: "Process", status: int, body: bytes, headers: Mapping[str, str], pace: float
    ) -> None:
        self.process = process
        self.status = self.status_code = status
        self.headers = headers
        self.reason = responses[status]
        self.within = math.inf
        """Seconds that the whole answer may take."""
        self._left = body
        self._pace = pace

    @property
    def data(self) -> bytes:
        """The whole body, however long it takes."""
        return self.read()

    def read(self, amount: int | None = None, **_: Any) -> bytes:
        """So many bytes, which is what urllib3 waits for."""
        size = len(self._left) if amount is None else amount
        piece, self._left = self._left[:size], self._left[size:]
        if self._pace:
            took = min(self._pace * len(piece), 7200.0)
            self.process.pass_time(min(took, self.within))
            if took > self.within:
                raise TimeoutError("the answer took too long")
        return piece

    def read1(self, amount: int | None = None, **_: Any) -> bytes:
        """What has come by now."""
        size = len(self._left) if amount is None else amount
        return self.read(min(size, 16) if self._pace else size)

    def stream(self, amount: int, **_: Any) -> Iterator[bytes]:
        """The body in pieces."""
        while self._left:
            yield self.read(amount)

    @property
    def raw(self) -> "Answer":
        """As `requests` has it."""
        return self

    def close(self) -> None:
        """Nothing is open."""

    release_conn = drain_conn = close


def exchange(
    process: "Process", method: str, url: str, body: bytes | None, timeout: float
) -> Answer:
    """One request to the API server or to Prometheus, with what goes wrong on its way."""
    metrics = url.startswith(PROMETHEUS)
    path, query = _asked(method, url, metrics=metrics)
    process.alive()
    if body is not None and _CANARY in body:
        process.universe.leaked(process, path)
    phase = process.phase_of(method, path, body, metrics=metrics)
    fault = process.strike(phase, path)
    process.pass_time(LATENCY)
    if fault is not None:
        _before(process, fault, metrics, timeout, url)
        refused = _refusal(fault, process)
        if refused is not None:
            _note_refusal(process, method, path, refused.status)
            return refused
    status, payload, headers = _served(process, method, path, body, query, metrics=metrics)
    if fault == "repeated":
        # A proxy lost the answer; that to its second try is all that arrives.
        process.universe.reached["repeated eviction"] += takes_pods(path) and status < 300
        process.pass_time(timeout / 2)
        again = _served(process, method, path, body, query, metrics=metrics, ours=False)
        status, payload, headers = again
    if fault in ("killed after", "reply lost") and takes_pods(path) and status < 300:
        process.universe.reached["unknown but done"] += 1
        process.universe.reached["stop unknown but done"] += method == "DELETE"
    if fault == "killed after":
        process.kill()
    if fault == "reply lost":
        process.pass_time(timeout)
        _broken(metrics, url)
    if fault is not None:
        payload = _garbled(process, fault, method, path, payload, metrics=metrics)
    if fault is None and method == "GET" and status == 200:
        process.universe.remember(path, payload)
    process.after(phase, method, path, body, status)
    return Answer(process, status, payload, headers, pace=1.0 if fault == "drip" else 0.0)


def _note_refusal(process: "Process", method: str, path: str, status: int) -> None:
    if takes_pods(path):
        what = "eviction" if method == "POST" else "stop"
        process.universe.reached[f"{what} {status}"] += 1
    if (method, status) == ("GET", 403):
        process.universe.seen_by(process, "", method, path, status)


def _asked(method: str, url: str, *, metrics: bool) -> tuple[str, str]:
    """The path and the query; a dry run keeps it in its path, as it is no eviction."""
    path, _, query = url.removeprefix(APISERVER).partition("?")
    return (f"{path}?{query}" if method == "POST" and query and not metrics else path), query


def _garbled(
    process: "Process", fault: str, method: str, path: str, payload: bytes, *, metrics: bool
) -> bytes:
    """The body as it arrives with that fault, which may leave nothing of it out."""
    arrived = _arriving(process, fault, method, path, payload, metrics=metrics)
    if metrics and fault in ("empty", "partial") and arrived != payload:
        process.universe.lost(process)
    return arrived


def _arriving(
    process: "Process", fault: str, method: str, path: str, payload: bytes, *, metrics: bool
) -> bytes:
    """What a server or the wire makes of the body."""
    match fault:
        case "truncated":
            return payload[: len(payload) // 2]
        case "empty":
            return _empty(payload, metrics=metrics)
        case "partial":
            return _partial(payload, metrics=metrics)
        case "stale" if method == "GET":
            return process.universe.stale.get(path, payload)
        case "twice" if not metrics:
            return _doubled(payload)
    return payload


def _empty(payload: bytes, *, metrics: bool) -> bytes:
    """A success with nothing in it."""
    if metrics:
        return b'{"status":"success","data":{"resultType":"vector","result":[]}}'
    found = msgspec.json.decode(payload)
    return b'{"metadata":{},"items":[]}' if "items" in found else b"{}"


def _partial(payload: bytes, *, metrics: bool) -> bytes:
    """A success of which a part is missing, and which says so."""
    found = msgspec.json.decode(payload)
    if metrics:
        rows = found["data"]["result"]
        found["data"]["result"] = rows[: len(rows) // 2] or rows
        return msgspec.json.encode({**found, "warnings": ["1 store did not answer"]})
    for item in (found.get("items") or [])[:1]:
        item["metadata"] = {**item["metadata"], "labels": 7}
    return msgspec.json.encode(found)


def _served(
    process: "Process",
    method: str,
    path: str,
    body: bytes | None,
    query: str,
    *,
    metrics: bool,
    ours: bool = True,
) -> tuple[int, bytes, dict[str, str]]:
    """What the server answers; with `Date` by its own clock.

    ours: whether the process itself has sent this, which the invariants look at.
    """
    universe = process.universe
    if metrics:
        return 200, universe.metrics_answer(body or b""), {}
    if method == "GET" and universe.refuses(path, query):
        return 403, b'{"kind":"Status","message":"forbidden by a webhook"}', {}
    cluster = universe.cluster
    cluster.ahead = universe.pick_server()
    try:
        decoded = None if body is None else msgspec.json.decode(body)
        universe.sender = process
        status, payload, headers = cluster.answer(method, path.partition("?")[0], decoded, query)
        date = _date(int(cluster.now().timestamp()))
        if ours:
            universe.record(process, method, path, status, decoded)
    finally:
        cluster.ahead = 0.0
    return status, payload, {**headers, "Date": date}


@lru_cache(maxsize=16)
def _date(seconds: int) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))


def _before(process: "Process", fault: str, metrics: bool, timeout: float, url: str) -> None:
    """Faults that let nothing arrive."""
    match fault:
        case "killed":
            process.kill()
        case "refused":
            if metrics:
                raise requests.ConnectionError("connection refused")
            raise urllib3.exceptions.NewConnectionError(None, "connection refused")  # type: ignore[arg-type]
        case "hang":
            process.pass_time(timeout)
            if metrics:
                raise requests.ReadTimeout("read timed out")
            raise urllib3.exceptions.ReadTimeoutError(None, url, "read timed out")  # type: ignore[arg-type]
        case "lost":
            process.pass_time(timeout)
            _broken(metrics, url)
        case "out of memory":
            raise MemoryError


def _broken(metrics: bool, url: str) -> NoReturn:
    if metrics:
        raise requests.ConnectionError("connection reset by peer")
    raise urllib3.exceptions.ProtocolError(f"connection broken: {url}")


_REFUSALS: dict[str, tuple[int, dict[str, Any], dict[str, str]]] = {
    "401": (401, {"message": "Unauthorized"}, {}),
    "403": (403, {"message": "forbidden by RBAC"}, {}),
    "404": (404, {"message": "not found"}, {}),
    "409": (409, {"message": "the object has been modified"}, {}),
    "410": (410, {"message": "the provided continue parameter is too old"}, {}),
    "429": (429, {"message": "too many requests"}, _APF),
    "budget": (
        429,
        {
            "message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "details": {"causes": [{"reason": "DisruptionBudget", "message": "needs 3, has 3"}]},
        },
        {},
    ),
    "503": (503, {"message": "the server is currently unable to handle the request"}, {}),
    "504": (504, {"message": "timeout: request did not complete within requested timeout"}, {}),
    "full": (500, {"message": "etcdserver: mvcc: database space exceeded"}, {}),
}


def _refusal(fault: str, process: "Process") -> Answer | None:
    found = _REFUSALS.get(fault)
    if found is None:
        return None
    status, body, headers = found
    date = {"Date": _date(int(process.universe.timeline.now().timestamp()))}
    reply = {"kind": "Status", "code": status, **body}
    return Answer(process, status, msgspec.json.encode(reply), {**headers, **date}, 0.0)


def _doubled(payload: bytes) -> bytes:
    """A list in which its first object comes twice."""
    found = msgspec.json.decode(payload)
    items = found.get("items") or []
    return msgspec.json.encode({**found, "items": [*items[:1], *items]})


class Pool:
    """Stands for urllib3's pool manager."""

    def __init__(self, process: "Process") -> None:
        self.process = process
        self.bounded = False
        """Whether the program has asked that timeouts count for whole answers."""

    @property
    def pool_classes_by_scheme(self) -> dict[str, Any]:
        """What `within_wall_time` replaces."""
        return {}

    @pool_classes_by_scheme.setter
    def pool_classes_by_scheme(self, _: dict[str, Any]) -> None:
        self.bounded = True

    def request(
        self, method: str, url: str, *, body: bytes | None = None, timeout: Any = 30.0, **_: Any
    ) -> Answer:
        """One request."""
        total = (
            timeout if isinstance(timeout, float | int) else (timeout.total or timeout.read_timeout)
        )
        answer = exchange(self.process, method, url, body, float(total))
        answer.within = float(total) if self.bounded else math.inf
        return answer


class SimApi:
    """Stands for the Kubernetes client, which the program uses for its pool and its credentials."""

    def __init__(self, configuration: Any = None) -> None:
        self.configuration = configuration
        self.default_headers: dict[str, str] = {}
        self.user_agent = "rescheduler"
        self.rest_client = SimpleNamespace(pool_manager=Pool(configuration.process))

    def param_serialize(
        self, method: str, path: str, *_: Any, query_params: Any = (), **more: Any
    ) -> tuple[str, str, dict[str, str], Any, Any]:
        """The request as it is sent; credentials are in its headers."""
        headers = {**(more.get("header_params") or {}), "Authorization": f"Bearer {CANARY}"}
        query = _encoded(tuple(query_params))
        return method, f"{self.configuration.host}{path}{query and '?'}{query}", headers, None, None

    def call_api(
        self, method: str, url: str, *_: Any, _request_timeout: Any = (5.0, 30.0)
    ) -> SimpleNamespace:
        """One request, its body not read yet."""
        read = _request_timeout[1] if isinstance(_request_timeout, tuple) else _request_timeout
        pool = self.rest_client.pool_manager
        return SimpleNamespace(response=pool.request(method, url, timeout=float(read)))


@lru_cache(maxsize=256)
def _encoded(parameters: tuple[tuple[str, str], ...]) -> str:
    return urlencode(parameters)


CANARY = "canary-9f2d-never-to-be-seen"
"""The token that every request carries; it must never come out of the program."""
_CANARY = CANARY.encode()


class Session:
    """Stands for `requests`' session in the Prometheus client."""

    current: "Process | None" = None

    proxied = False

    def __init__(self, url: str, access: object) -> None:
        self.url = url
        if Session.current is None:
            raise AssertionError("no process")
        self._process = Session.current

    def send(
        self,
        method: str,
        endpoint: str,
        form: dict[str, str],
        credentials: dict[str, str],
        timeout: float,
    ) -> Answer:
        """One query."""
        body = msgspec.json.encode(form)
        answer = exchange(self._process, method, f"{self.url}/{endpoint}", body, timeout)
        answer.within = timeout  # the real session is made so, with `session_within_wall_time`
        return answer

    def close(self) -> None:
        """Nothing is open."""


__all__ = ["APISERVER", "CANARY", "PROMETHEUS", "Answer", "SimApi", "exchange"]

"""What can happen to a request on its way: a `Trouble` for each, and when it comes.

Each function makes one. "Instead" means that the server behind never sees the request.
"""

import functools
import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.e2e.between import Asked, Between, Cut, PassOn, Reply, Silent, Trouble
from tests.e2e.crashing import unpacked

Json = dict[str, Any]

_JSON = [("Content-Type", "application/json")]
_TEXT = [("Content-Type", "text/html")]
BOMB = 300 * 2**20
"""Bytes of a bomb once inflated: more than any answer may have."""


def cut(_asked: Asked, _pass_on: PassOn) -> Reply:
    """The connection is reset instead."""
    raise Cut


def lost(asked: Asked, pass_on: PassOn) -> Reply:
    """The request is carried out, and the connection is reset before the answer."""
    pass_on(asked)
    raise Cut


def silent(_asked: Asked, _pass_on: PassOn) -> Reply:
    """Nothing comes back."""
    raise Silent


def refused(between: Between) -> Trouble:
    """From now on nobody listens there."""

    def trouble(_asked: Asked, _pass_on: PassOn) -> Reply:
        between.refuse()
        raise Cut

    return trouble


def half(asked: Asked, pass_on: PassOn) -> Reply:
    """The connection is reset in the middle of the body."""
    reply = pass_on(asked)
    middle = len(reply.body) // 2
    return reply._replace(body=reply.body[:middle], missing=len(reply.body) - middle)


def truncated(asked: Asked, pass_on: PassOn) -> Reply:
    """The answer ends in the middle, as if that were all."""
    reply = pass_on(asked)
    text = _inflated(reply)
    return _with_body(reply, text[: len(text) // 2])


def dripping(asked: Asked, pass_on: PassOn) -> Reply:
    """A byte of the answer in every tenth of a second."""
    return pass_on(asked)._replace(pause=0.1)


def status(code: int, reason: str = "", **headers: str) -> Trouble:
    """This code instead, in a Status object as Kubernetes answers it."""
    named = [(key.replace("_", "-"), value) for key, value in headers.items()]
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    text = json.dumps({**body, "reason": reason, "message": f"a fault of the test: {reason}"})

    def trouble(_asked: Asked, _pass_on: PassOn) -> Reply:
        return Reply(code, [*_JSON, *named], text.encode())

    return trouble


def after(code: int) -> Trouble:
    """The request is carried out, and a proxy on the way answers this code."""

    def trouble(asked: Asked, pass_on: PassOn) -> Reply:
        pass_on(asked)
        return Reply(code, _TEXT, b"<html>upstream timed out</html>")

    return trouble


def page(_asked: Asked, _pass_on: PassOn) -> Reply:
    """A login page instead, with code 200."""
    return Reply(200, _TEXT, b"<html><body>Please log in.</body></html>")


def redirected(where: str) -> Trouble:
    """To another address instead."""

    def trouble(_asked: Asked, _pass_on: PassOn) -> Reply:
        return Reply(307, [("Location", where)], b"")

    return trouble


def bomb() -> Trouble:
    """Some kilobytes that inflate to hundreds of megabytes; packed before anybody waits for it."""
    packed, encoding = _packed_bomb(), ("Content-Encoding", "gzip")

    def trouble(asked: Asked, pass_on: PassOn) -> Reply:
        return Reply(200, [*_JSON, encoding, *_dates(pass_on(asked))], packed)

    return trouble


def rewritten(change: Callable[[Any], Any]) -> Trouble:
    """The answer as JSON, as this function leaves it."""

    def trouble(asked: Asked, pass_on: PassOn) -> Reply:
        reply = pass_on(asked)
        return _with_body(reply, json.dumps(change(json.loads(_inflated(reply)))).encode())

    return trouble


def rows(change: Callable[[list[Json]], list[Json]]) -> Trouble:
    """The rows of Prometheus' answer, as this function leaves them.

    Not of those that ask for `vector(1)`: what is wrong with that is no Prometheus at all.
    """

    def changed(answer: Any) -> Any:
        return {**answer, "data": {**answer["data"], "result": change(answer["data"]["result"])}}

    spoil = rewritten(changed)

    def trouble(asked: Asked, pass_on: PassOn) -> Reply:
        return pass_on(asked) if b"vector%281%29" in asked.body else spoil(asked, pass_on)

    return trouble


def values(text: str) -> Trouble:
    """This value in every row of Prometheus' answer."""
    return rows(lambda found: [{**row, "value": [row["value"][0], text]} for row in found])


def paged(size: int, then: Trouble | None = None) -> Trouble:
    """Lists come in pages of so many; what becomes of a page that goes on.

    The continue token is the API server's own.
    """

    def trouble(asked: Asked, pass_on: PassOn) -> Reply:
        parts = urlsplit(asked.path)
        query = dict(parse_qsl(parts.query))
        if "limit" in query:
            query["limit"] = str(size)
        asked = asked._replace(path=parts._replace(query=urlencode(query)).geturl())
        if then is not None and "continue" in query:
            return then(asked, pass_on)
        return pass_on(asked)

    return trouble


@dataclass
class Strike:
    """A trouble at requests of one phase of a run.

    Phases as in the fault matrix: lock, state, snap, wal, evict, watch, report; `wal` is the write
    of the first intent, `settle` every write of the state after the first eviction.
    `metric` is every query to Prometheus. nth, times: at which of the phase's requests, from 0, and
    at how many. path: something that method and path must hold, as `PUT /api`.
    """

    phase: str
    trouble: Trouble
    nth: int = 0
    times: int = 1000
    path: str = ""
    struck: int = 0
    evictions: int = 0
    _seen: int = 0
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked, pass_on: PassOn) -> Reply:
        """The trouble of a `Between`."""
        with self._guard:
            phase = self._phase(asked)
            self.evictions += phase == "evict"
            hit = phase == self.phase and self.path in f"{asked.method} {asked.path}"
            self._seen += hit
            hit = hit and self.nth < self._seen <= self.nth + self.times
            self.struck += hit
        return self.trouble(asked, pass_on) if hit else pass_on(asked)

    def _phase(self, asked: Asked) -> str:
        path = urlsplit(asked.path).path
        if "/api/v1/query" in path:
            return "metric"
        if path.endswith("/eviction"):
            return "evict"
        if "/leases" in path:
            return "lock"
        if "/configmaps" in path:
            return self._of_state(asked)
        if asked.method == "GET":
            return "watch" if self.evictions else "snap"
        return "report" if "/events" in path else "other"

    def _of_state(self, asked: Asked) -> str:
        if asked.method == "GET":
            return "state"
        if self.evictions:
            return "settle"
        stored = unpacked(json.loads(asked.body))
        moves = (stored or {}).get("history", {}).get("moves", [])
        return "wal" if any(m.get("state", "intended") == "intended" for m in moves) else "state"


@functools.cache
def _packed_bomb() -> bytes:
    return gzip.compress(bytes(BOMB), compresslevel=1)


def _inflated(reply: Reply) -> bytes:
    encoded = any(k.lower() == "content-encoding" and v == "gzip" for k, v in reply.headers)
    return gzip.decompress(reply.body) if encoded else reply.body


def _with_body(reply: Reply, body: bytes) -> Reply:
    kept = [(k, v) for k, v in reply.headers if k.lower() != "content-encoding"]
    return reply._replace(headers=kept, body=body)


def _dates(reply: Reply) -> list[tuple[str, str]]:
    return [(k, v) for k, v in reply.headers if k.lower() == "date"]


def once(trouble: Trouble) -> Trouble:
    """The first time only."""
    left = [trouble]

    def first(asked: Asked, pass_on: PassOn) -> Reply:
        return left.pop()(asked, pass_on) if left else pass_on(asked)

    return first

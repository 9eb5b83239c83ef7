"""HTTP responses within a wall time and a number of bytes.

The timeout of an HTTP client counts for each read of the socket, so a server that sends a byte a
second is never late. Here the read timeout of a request is the time for its whole answer, from the
status line to the last byte of the body.
"""

import functools
import http.client
import io
import socket
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

_BUFFER = 2**16
_CHUNK = 2**20


class TooLarge(urllib3.exceptions.HTTPError):
    """An answer has more bytes than it may."""


def session_within_wall_time(session: requests.Session) -> None:
    """Let the timeouts of a session's requests count for whole answers.

    On what is mounted now, and through the proxies that it has now.
    """
    for adapter in session.adapters.values():
        if isinstance(adapter, HTTPAdapter):
            within_wall_time(adapter.poolmanager)
            for proxy in session.proxies.values():
                within_wall_time(adapter.proxy_manager_for(proxy))


def within_wall_time(manager: Any) -> None:
    """Let the read timeouts of a urllib3 PoolManager's requests count for whole answers.

    To be called before its first request; more than once does no harm.
    """
    manager.pool_classes_by_scheme = {
        scheme: _timed_pool(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def read_body(response: Any, most: int) -> bytes:
    """The whole body of a urllib3 response that was not preloaded, inflated.

    most: bytes. The connection is given back where the body was read to its end, else closed.

    Raises:
        TooLarge: it has more.
        urllib3.exceptions.HTTPError, OSError: it is cut off, late or garbled.
    """
    body = io.BytesIO()
    try:
        for chunk in response.stream(_CHUNK, decode_content=True):
            if body.tell() + len(chunk) > most:
                raise TooLarge(f"the answer is larger than {most // 2**20} MiB")
            body.write(chunk)
    finally:
        response.close()  # a body that was read to its end has given its connection back already
    return body.getvalue()


@functools.lru_cache(maxsize=16)
def date_of(header: str) -> datetime | None:
    """The time of a Date header, exact to a second; None where it is none.

    A cluster is read by many requests in a second.
    """
    try:
        date = parsedate_to_datetime(header)
        return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None


@functools.cache
def _timed_pool(pool: Any) -> Any:
    """The pool class, whose connections answer with `_TimedResponse`."""
    base = pool.ConnectionCls
    if base.response_class is _TimedResponse:
        return pool
    connection = type(f"Timed{base.__name__}", (base,), {"response_class": _TimedResponse})
    return type(f"Timed{pool.__name__}", (pool,), {"ConnectionCls": connection})


class _TimedResponse(http.client.HTTPResponse):
    """An answer whose socket's timeout, as it is now, is the time for all of it."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(_TimedSocket(sock), *args, **kwargs)  # type: ignore[arg-type]


class _TimedSocket:
    """The one method of a socket that `http.client.HTTPResponse` calls."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The bytes that arrive until the time is up."""
        raw = self._sock.makefile("rb", buffering=0)
        return io.BufferedReader(_Timed(self._sock, raw), _BUFFER)


class _Timed(io.RawIOBase):
    """Bytes from a socket; each read may take what is left of the time."""

    def __init__(self, sock: socket.socket, raw: Any) -> None:
        self._sock = sock
        self._raw = raw
        self._timeout = sock.gettimeout()
        self._until = None if self._timeout is None else time.monotonic() + self._timeout

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """What has arrived."""
        if self._until is None:
            return self._raw.readinto(buffer)  # type: ignore[no-any-return]
        seconds_left = self._until - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError("the answer took too long")
        self._sock.settimeout(seconds_left)
        try:
            return self._raw.readinto(buffer)  # type: ignore[no-any-return]
        finally:
            # The next request on a connection that is kept sends with this one's timeout.
            self._sock.settimeout(self._timeout)

    def close(self) -> None:
        """Give the socket back."""
        self._raw.close()
        super().close()

"""One request to the API server, sent once with a deadline; the server's clock.

The Kubernetes client brings configuration, credentials and TLS. Its own request methods retry PUT
behind our back and raise for statuses that are ordinary answers here, so the pool is used as is.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import urllib3
from kubernetes.client import ApiClient

from rescheduler.kube.nesting import decode_json
from rescheduler.planning.limits.guards import MOST_CLOCK_SKEW
from rescheduler.wire.answers import date_of, read_body, within_wall_time

MAX_BODY = 8 * 2**20
"""Bytes of an answer, inflated: one object, at most 1.5 MiB in etcd."""

_EXACT = timedelta(seconds=1)
"""To which a Date header tells the time."""

Api = ApiClient
"""The Kubernetes client, under a name that runtime may use without importing `kubernetes`."""


def steady() -> float:
    """Seconds on a clock that never steps and, where the system has one, also runs in suspend."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class ServerClock:
    """The API server's time, carried on by a steady clock from the last Date header heard.

    Steps and errors of this host's wall clock therefore change no cool-down and no budget. Until
    a header was heard, the wall clock stands in. Exact to a second: a header drops its fraction,
    so one of the second that it is by this clock says nothing new, and is not taken, as it would
    set the time back.
    A later header that neither the steady clock nor the wall clock bears out is not taken: one of
    days ahead would end every budget at once.
    """

    def __init__(
        self,
        steady: Callable[[], float] = steady,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._steady = steady
        self._wall = wall
        self._heard: tuple[datetime, float] | None = None
        self._step = 0.0

    def hear(self, date: datetime | None) -> None:
        """Take the Date of an answer that has just come, if it can be."""
        if date is None:
            return
        step = date - self.now()
        if self._heard is not None and -_EXACT < step <= timedelta():
            self._step = 0.0
            return
        borne_out = min(abs(step), abs(date - self._wall())) <= MOST_CLOCK_SKEW
        if borne_out or self._heard is None:
            self._heard, self._step = (date, self._steady()), 0.0
        else:
            self._step = step.total_seconds()

    def now(self) -> datetime:
        """The server's time now, in UTC."""
        if self._heard is None:
            return self._wall()
        date, at = self._heard
        return date + timedelta(seconds=self._steady() - at)

    def skew(self) -> float:
        """Seconds by which this host's wall clock is ahead of the server's."""
        return (self._wall() - self.now()).total_seconds()

    def difference(self) -> float:
        """Seconds, above 0, between the clocks: the host's, the server's, its last Date header."""
        return max(abs(self.skew()), abs(self._step))

    def sure(self) -> datetime:
        """A time that has come by the server's clock and by the host's, so that none ends early."""
        return min(self.now(), self._wall())


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """What came back. status 0: nothing did, and `message` says why."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the server said yes."""
        return 200 <= self.status < 300

    @property
    def date(self) -> datetime | None:
        """When the server answered, by its own clock."""
        return date_of(self.headers.get("Date", ""))

    @property
    def retry_after(self) -> float | None:
        """Seconds that the server asks to wait, or None; a date or nonsense counts as None."""
        try:
            seconds = float(self.headers["Retry-After"])
        except (KeyError, ValueError):
            return None
        return seconds if 0 <= seconds < float("inf") else None


def call(
    api: Api, method: str, path: str, body: dict[str, Any] | None = None, *, timeout: float
) -> ApiResponse:
    """Send one request exactly once and wait at most `timeout` seconds for the whole answer.

    No retry, no redirect. An answer that is not a JSON object has an empty body, so that nothing
    is concluded from a proxy's error page; a success of that kind is no answer at all (status 0).
    """
    headers = {"Accept": "application/json"}
    if body is not None:
        patch = "application/merge-patch+json"
        headers["Content-Type"] = patch if method == "PATCH" else "application/json"
    # The client inserts credentials, refreshed where they expire, and its User-Agent.
    _, url, headers, _, _ = api.param_serialize(
        method, path, query_params=[], header_params=headers, auth_settings=["BearerToken"]
    )
    within_wall_time(api.rest_client.pool_manager)
    try:
        response = api.rest_client.pool_manager.request(
            method,
            url,
            body=None if body is None else msgspec.json.encode(body),
            headers=headers,
            timeout=urllib3.Timeout(total=timeout),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        content = read_body(response, MAX_BODY)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return ApiResponse(
            0, message=f"{method} {path}: no answer ({type(error).__name__}: {error})"
        )
    status = int(response.status)
    try:
        said = decode_json(content, dict[str, Any])
    except msgspec.DecodeError:
        if 200 <= status < 300:
            return ApiResponse(
                0, message=f"{method} {path}: answered {status} without a JSON object"
            )
        said = {}
    message = str(said.get("message") or response.reason or "")
    return ApiResponse(
        status, said, response.headers, f"{method} {path}: {status} {message}".strip()
    )

"""Guarded GET requests to a Kubernetes API server.

The `kubernetes` client brings authentication and TLS. What it lacks stands here: timeouts, a
bounded retry, gzip, and errors that a person can act on.
"""

import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import urllib3
from kubernetes.client import ApiClient, ApiException

from rescheduler.kube.nesting import decode_json
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.sources import network_faults
from rescheduler.wire.answers import TooLarge, date_of, read_body, within_wall_time

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 30.0
"""Seconds for a whole answer, however its bytes arrive."""
ATTEMPTS = 4
MAX_WAIT = 5.0
"""Seconds that a Retry-After header may make us wait."""
MAX_PAGE = 128 * 2**20
"""Bytes of a page of a list, inflated: 500 objects of 256 KiB. Pods have 5 to 30 KiB."""
MAX_BODY = 32 * 2**20
"""Bytes of any other answer, inflated. etcd holds objects of up to 1.5 MiB, and the /metrics of a
kube-scheduler are a few MiB."""

_VALUES = frozenset({403, 404, 410})
_RETRIED = frozenset({429, 502, 503, 504})
_OF_ALL = frozenset({401, 407, 408, 429})
"""Statuses of 4xx that tell nothing of the request itself: any other is answered the same."""


@dataclass(frozen=True, slots=True)
class GetResponse:
    """What the API server said: 2xx, or one of 403, 404 and 410, which are answers too.

    date: the server's clock from the Date header, exact to a second; None without one.
    sent, received: this host's clock around the request.
    """

    status: int
    body: bytes
    date: datetime | None
    sent: datetime
    received: datetime

    @property
    def message(self) -> str:
        """The message of a Status object, or the beginning of whatever came instead."""
        return _message(self.body)

    @property
    def clock_skew(self) -> float | None:
        """Seconds by which this host's clock is ahead of the server's; None without a Date.

        The header is cut to whole seconds, so half a second is added; anything up to a second and
        the length of the request is therefore within the error.
        """
        if self.date is None:
            return None
        middle = self.sent + (self.received - self.sent) / 2
        return (middle - self.date).total_seconds() - 0.5


class AnswerTooLarge(ClusterUnavailable):
    """An answer has more bytes than we take."""


class AnswerLate(ClusterUnavailable):
    """The connection stands, and the answer was not whole when the time was up."""


class RequestRefused(ClusterUnavailable):
    """The API server, or what is before it, does not want this very request: too long, or odd."""


class ServerFailed(ClusterUnavailable):
    """The API server fails at this request, and perhaps at no other. answer: what it said."""

    def __init__(self, message: str, hint: str, answer: GetResponse) -> None:
        super().__init__(message, hint)
        self.answer = answer


@dataclass(slots=True)
class Connection:
    """An API server that can be called. `api` is what the acting side needs.

    name: the context's name, or `in-cluster`.
    attempts: how often a request is sent at most, where the server asks to try again.
    """

    api: ApiClient
    name: str
    attempts: int = ATTEMPTS
    read_timeout: float = READ_TIMEOUT
    _host: str = field(default="", init=False)

    def __post_init__(self) -> None:
        within_wall_time(self.api.rest_client.pool_manager)
        self._host = str(self.api.configuration.host)

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._host

    def get(self, path: str, query: dict[str, str] | None = None) -> bytes:
        """The body of a successful GET.

        Raises:
            ClusterUnavailable: there is none, with the reason.
        """
        answer = self.fetch(path, query)
        if answer.status >= 300:
            raise ClusterUnavailable(
                f"{self._host}{path} answered {answer.status}: {answer.message}",
                "the object does not exist, or the account may not read it.",
            )
        return answer.body

    def fetch(
        self,
        path: str,
        query: dict[str, str] | None = None,
        until: float | None = None,
        *,
        most: int = MAX_BODY,
    ) -> GetResponse:
        """A GET with gzip and timeouts, tried again where the server asks for it.

        until: time.monotonic() at which to give up. most: bytes of the answer, inflated.

        Raises:
            AnswerTooLarge: it has more bytes.
            AnswerLate: it is not whole in time. RequestRefused: by a status that is about itself.
            ClusterUnavailable: refused, too slow, not authenticated, or an unexpected status.
        """
        until = time.monotonic() + 4 * self.read_timeout if until is None else until
        for attempt in range(1, self.attempts + 1):
            last = attempt == self.attempts
            answer, wait = self._try_once(path, query or {}, until, most, last=last)
            if answer is not None:
                return answer
            if time.monotonic() + wait >= until:
                break
            time.sleep(wait)
        raise ClusterUnavailable(
            f"{self._host}{path} was still asking to wait when the time was up",
            "the API server is overloaded; a later cycle tries again.",
        )

    def _try_once(
        self, path: str, query: dict[str, str], until: float, most: int, *, last: bool
    ) -> tuple[GetResponse | None, float]:
        """The answer, or None and the seconds to wait before the next attempt."""
        seconds_left = until - time.monotonic()
        if seconds_left <= 0:
            raise AnswerLate(
                f"{self._host}{path} was not read in time", "the API server is overloaded."
            )
        sent = datetime.now(UTC)
        try:
            response = self._send(path, query, min(self.read_timeout, seconds_left))
            body = read_body(response, most)
        except TooLarge as error:
            raise AnswerTooLarge(
                f"{self._host}{path} cannot be read: {error}",
                "what answers there is no API server, or an object is far larger than others.",
            ) from error
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            if not last and _transient(error):
                return None, 0.2
            raise _unreachable(self._host, path, error) from error
        date = date_of(response.headers.get("Date", ""))
        answer = GetResponse(response.status, body, date, sent, received=datetime.now(UTC))
        if response.status < 300 or response.status in _VALUES:
            return answer, 0.0
        if response.status in _RETRIED and not last:
            return None, _retry_after(response.headers)
        raise _unexpected_answer(self._host, path, answer)

    def _send(self, path: str, query: dict[str, str], timeout: float) -> Any:
        request = self.api.param_serialize(
            "GET",
            path,
            query_params=list(query.items()),
            header_params={"Accept": "application/json", "Accept-Encoding": "gzip"},
            auth_settings=["BearerToken"],
        )
        timeouts = (min(CONNECT_TIMEOUT, timeout), timeout)
        return self.api.call_api(*request, _request_timeout=timeouts).response


def _transient(error: Exception) -> bool:
    """Whether the connection merely broke, as it does when a kept-alive one was closed."""
    cause = getattr(error, "reason", error)
    return isinstance(cause, urllib3.exceptions.ProtocolError | ConnectionResetError)


def _unreachable(host: str, path: str, error: Exception) -> ClusterUnavailable:
    cause = getattr(error, "reason", None) or error
    if isinstance(cause, urllib3.exceptions.SSLError) or "SSLError" in str(cause):
        hint = "the certificate-authority of the kubeconfig is not the server's."
    elif isinstance(cause, urllib3.exceptions.NewConnectionError):
        hint = "the cluster is down, or the address in the kubeconfig is wrong."
    elif isinstance(cause, urllib3.exceptions.TimeoutError | TimeoutError):
        hint = "the network drops the packets, or the API server is overloaded."
    elif isinstance(cause, urllib3.exceptions.DecodeError):
        hint = "a proxy between here and the API server garbles its answers."
    else:
        hint = "the connection broke; try again."
    late = isinstance(cause, urllib3.exceptions.ReadTimeoutError)
    fault = AnswerLate if late else ClusterUnavailable
    return fault(f"{host}{path} cannot be read: {network_faults.cause(cause)}", hint)


def _unexpected_answer(host: str, path: str, answer: GetResponse) -> ClusterUnavailable:
    hints = {
        401: "the credentials have expired or belong to another cluster.",
        429: "the API server is overloaded; a later cycle tries again.",
    }
    hint = hints.get(answer.status, "this is not a Kubernetes API server, or it is failing.")
    said = f"{host}{path} answered {answer.status}: {answer.message}"
    if answer.status >= 500:
        return ServerFailed(said, hint, answer)
    about_it = 400 <= answer.status < 500 and answer.status not in _OF_ALL
    fault = RequestRefused if about_it else ClusterUnavailable
    return fault(said, hint)


def _message(body: bytes) -> str:
    try:
        status = decode_json(body, dict[str, Any])
    except msgspec.DecodeError:
        status = None
    if status and isinstance(status.get("message"), str):
        return str(status["message"])
    text = " ".join(body[:200].decode("utf-8", "replace").split())
    return text or "no body"


def _retry_after(headers: Any) -> float:
    try:
        seconds = float(headers.get("Retry-After", 1))
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(seconds) else min(max(seconds, 0.0), MAX_WAIT)


def one_line(error: object) -> str:
    """An error in one line, with its type where it has no words."""
    text = " ".join(str(error).split())
    return text or type(error).__name__

"""Instant queries to Prometheus, or to what serves its HTTP API, with every answer checked.

`prometheus-api-client` holds the address, the session and the headers. Its own query methods drop
the warnings, the type of the result and the flags of partial answers, put queries into URLs and
retry behind our back, so requests are sent here.
"""

import math
import re
import time
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
import requests
import urllib3
from prometheus_api_client import PrometheusConnect

from rescheduler.model.errors import MetricsUnavailable, SettingsError
from rescheduler.sources.prometheus.http.access import Access, CredentialError, proxy_for
from rescheduler.sources.prometheus.http.clouds import CloudAuth
from rescheduler.sources.prometheus.http.source_advice import advice_on_status, explain_fault
from rescheduler.wire.answers import TooLarge, read_body, session_within_wall_time

CONNECT_TIMEOUT = 5.0
ATTEMPTS = 3
MAX_WAIT = 5.0
"""Seconds that a Retry-After header may make us wait."""
MAX_BODY = 256 * 2**20
"""Bytes of one answer, inflated. A row for each of 150,000 pods is about 24 MiB, and some tens of
evaluations of each fit as well."""

_SAME = 0.01
"""Seconds by which an evaluation may miss the requested time."""

_INFO = "PromQL info:"
"""How Prometheus' engine begins what it says of a query, and not of the data (util/annotations)."""

_RETRIED = frozenset({429, 502, 503})
_SELECTOR = re.compile(r'[a-zA-Z_]\w*(=|!=|=~|!~)"[^"\\]*"(,[a-zA-Z_]\w*(=|!=|=~|!~)"[^"\\]*")*')


class Sample(msgspec.Struct, gc=False):
    """A row of an instant vector: the labels, and evaluation time and value as text.

    Of an evaluation in a range the value is a number: NaN for a text that is none.
    """

    metric: dict[str, str]
    value: tuple[float, str | float]


class _Samples(msgspec.Struct, frozen=True):
    totalQueryableSamples: int | None = None


class _Stats(msgspec.Struct, frozen=True):
    samples: _Samples = _Samples()


class _Data(msgspec.Struct):
    resultType: str = ""
    result: msgspec.Raw = msgspec.Raw(b"null")
    stats: _Stats = _Stats()


class _Envelope(msgspec.Struct):
    status: str = ""
    data: _Data | None = None
    errorType: str = ""
    error: str = ""
    warnings: list[str] | None = None
    isPartial: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """The answer to an instant query. warnings: reasons to believe that rows are missing.

    seconds: from the question to the whole answer. read: samples that the source had to look at,
    None where it does not tell.
    """

    samples: list[Sample]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    read: int | None = None


class _Series(msgspec.Struct, gc=False):
    """A row of a range vector: the labels, and each evaluation's time and value."""

    metric: dict[str, str]
    values: msgspec.Raw


class Evaluations:
    """The instant vectors of a range query; only one must be held as rows at a time.

    values: (series, evaluations) NaN where there is none, or none that is a number; there: which
    there are.
    """

    def __init__(self, times: list[float], warnings: tuple[str, ...]) -> None:
        self._times, self.warnings = times, warnings
        self._metrics: list[dict[str, str]] = []
        self._values: list[array[float]] = []
        self._there: list[bytes] = []

    def add(self, metric: dict[str, str], values: Mapping[int, str]) -> None:
        """Add a series with its values by the number of the evaluation."""
        row = array("d", [math.nan]) * len(self._times)
        there = bytearray(len(self._times))
        for index, text in values.items():
            row[index], there[index] = _float(text), 1
        self._metrics.append(metric)
        self._values.append(row)
        self._there.append(bytes(there))

    def relabel(self, of: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
        """Let the rows have these labels instead, which are equal."""
        self._metrics = [of(metric) for metric in self._metrics]

    def __getitem__(self, index: int) -> Vector:
        at = self._times[index]
        rows = zip(self._metrics, self._values, self._there, strict=True)
        samples = [Sample(m, (at, values[index])) for m, values, there in rows if there[index]]
        return Vector(samples, self.warnings)


_Row = TypeVar("_Row", Sample, _Series)


class _Session(PrometheusConnect):  # type: ignore[misc]
    """The client library's address, headers and session, without its retries."""

    def __init__(self, url: str, access: Access) -> None:
        session = requests.Session()
        session.trust_env = False  # no credentials from ~/.netrc
        session.verify = True if access.ca_file is None else str(access.ca_file)
        session.cert = access.certificate
        proxy = proxy_for(url)
        if proxy:
            session.proxies[urlsplit(url).scheme] = proxy
        never = urllib3.Retry(total=0, redirect=0, raise_on_status=False)
        super().__init__(
            url, headers={"Accept": "application/json"}, session=session, retry=never, method="POST"
        )
        session_within_wall_time(session)
        self.proxied = bool(proxy)
        self._auth = CloudAuth(access.cloud, url) if access.cloud else None

    def send(
        self,
        method: str,
        endpoint: str,
        form: dict[str, str],
        credentials: dict[str, str],
        timeout: float,
    ) -> requests.Response:
        """One query; a POST carries it in its body, where no URL limit holds."""
        payload = {"data": form} if method == "POST" else {"params": form}
        answer: requests.Response = self._session.request(
            method,
            f"{self.url}/api/v1/{endpoint}",
            headers={**self.headers, **credentials},
            auth=self._auth,
            timeout=(min(CONNECT_TIMEOUT, timeout), timeout),
            allow_redirects=False,
            stream=True,
            **payload,
        )
        return answer


class Prometheus:
    """A metric source.

    url: scheme, host and path prefix; `/api/v1/query` is added to it.
    access: who we are to it.
    selector: label matchers put into every query, such as `cluster="eu-1"`.
    timeout: seconds for one request. deadline: seconds for one cycle's queries together.
    stats: whether to ask besides what each query cost; not unless set.
    method: POST, or GET for a proxy at which reading is another right than writing.

    Raises:
        SettingsError: one of them cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        access: Access = Access(),  # noqa: B008 - it is frozen
        selector: str = "",
        timeout: float = 30.0,
        deadline: float = 120.0,
        method: Literal["GET", "POST"] = "POST",
    ) -> None:
        self.url = _check_url(url)
        access.check(self.url)
        if selector and not _SELECTOR.fullmatch(selector):
            raise SettingsError(
                f"{selector!r} is not a list of label matchers", 'write it as cluster="eu-1".'
            )
        self.match = f"{selector}," if selector else ""
        self.timeout = timeout
        self.deadline = deadline
        self.stats = False
        self._access = access
        self._method = method
        self._session = _Session(self.url, access)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def query(self, promql: str, at: float | None, until: float) -> Vector:
        """The instant vector of a query.

        at: the evaluation time, None for the source's own now. until: time.monotonic() to stop at.

        Raises:
            MetricsUnavailable: no valid answer, with the reason.
        """
        form = {"query": promql} | ({} if at is None else {"time": repr(at)})
        form |= {"stats": "all"} if self.stats else {}
        began = time.monotonic()
        answer = self._ask("query", form, until)
        samples = self._decode_rows(answer, "vector", Sample)
        read = answer.data.stats.samples.totalQueryableSamples if answer.data else None
        return Vector(samples, _warnings(answer), seconds=time.monotonic() - began, read=read)

    def query_range(
        self, promql: str, start: float, step: float, count: int, until: float
    ) -> Evaluations:
        """The instant vectors that the query had at `count` times, from `start` every `step`.

        start, step: seconds, in whole milliseconds. An evaluation that the answer lacks has no row;
        one at another time than requested makes the whole answer unfit.

        Raises:
            MetricsUnavailable: no valid answer, with the reason.
        """
        end = start + (count - 1) * step
        form = {"query": promql, "start": repr(start), "end": repr(end), "step": repr(step)}
        answer = self._ask("query_range", form, until)
        evaluations = Evaluations([start + n * step for n in range(count)], _warnings(answer))
        for series in self._decode_rows(answer, "matrix", _Series):
            values: dict[int, str] = {}
            for at, value in self._rows(series.values, _VALUES, "matrix"):
                index = round((at - start) / step)
                other = not 0 <= index < count or abs(start + index * step - at) >= _SAME
                if other or index in values:
                    raise self._fault(
                        f"it evaluates at other times than requested: {at:.3f}",
                        "a query frontend moves them; give the address of what is behind it.",
                    )
                values[index] = value
            evaluations.add(series.metric, values)
        return evaluations

    def _ask(self, endpoint: str, form: dict[str, str], until: float) -> _Envelope:
        """The answer to a query, which has data."""
        for attempt in range(1, ATTEMPTS + 1):
            seconds_left = until - time.monotonic()
            if seconds_left <= 0:
                raise self._fault("the time for this cycle's queries is up", "it is overloaded.")
            timeout = min(self.timeout, seconds_left)
            status, headers, body = self._send(endpoint, form, timeout)
            if status == 405 and self._method == "POST":
                self._method = "GET"
                status, headers, body = self._send(endpoint, form, timeout)
            envelope = _decode(body)
            wait = _retry_after(headers)
            again = status in _RETRIED and (envelope is None or envelope.errorType != "timeout")
            if not again or attempt == ATTEMPTS or time.monotonic() + wait >= until:
                return self._accept_answer(status, headers, body, envelope)
            time.sleep(wait)
        raise AssertionError  # the last attempt returned or raised

    def _send(self, endpoint: str, query: dict[str, str], timeout: float) -> tuple[int, Any, bytes]:
        # VictoriaMetrics answers from a cache that lacks the newest half minute, and moves the
        # instants of a range to multiples of the step, unless `nocache` is set; others ignore it.
        form = {**query, "timeout": f"{max(int(timeout * 1000), 1)}ms", "nocache": "1"}
        try:
            who = self._access.headers()
            response = self._session.send(self._method, endpoint, form, who, timeout)
            return response.status_code, response.headers, read_body(response.raw, MAX_BODY)
        except TooLarge as error:
            raise self._fault(
                str(error), "the query selects more series than it should."
            ) from error
        except CredentialError as error:
            raise self._fault(str(error), error.hint) from error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise self._fault(*explain_fault(error, proxied=self._session.proxied)) from error

    def _accept_answer(
        self, status: int, headers: Any, body: bytes, envelope: _Envelope | None
    ) -> _Envelope:
        if 300 <= status < 400:
            where = headers.get("Location", "somewhere else")
            raise self._fault(f"answered {status}: go to {where}", "it wants a login; use a token.")
        if envelope is None or (status == 200 and not envelope.status):
            text = " ".join(body[:160].decode("utf-8", "replace").split())
            raise self._fault(
                f"answered {status} with something that is not a Prometheus answer: {text!r}",
                advice_on_status(status, text)
                or "the address is a login page or another program's.",
            )
        if status != 200 or envelope.status != "success":
            kind = envelope.errorType or "no reason"
            raise self._fault(
                f"answered {status}, {kind}: {envelope.error}",
                advice_on_status(status, envelope.error),
            )
        return envelope

    def _decode_rows(self, answer: _Envelope, kind: str, row: type[_Row]) -> list[_Row]:
        """The rows of an answer that must be of this kind."""
        if answer.data is None or answer.data.resultType != kind:
            what = answer.data.resultType if answer.data else "nothing"
            raise self._fault(f"answered with {what!r} instead of a {kind}", "the query is wrong.")
        decoder = msgspec.json.Decoder(list[row])  # type: ignore[valid-type]
        rows: list[_Row] = self._rows(answer.data.result, decoder, kind)
        return rows

    def _rows(self, text: msgspec.Raw, decoder: Any, kind: str) -> Any:
        try:
            return decoder.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._fault(f"answered with a garbled {kind}: {error}", "") from error

    def _fault(self, what: str, hint: str) -> MetricsUnavailable:
        return MetricsUnavailable(f"{self.url}: {what}", hint)


_VALUES = msgspec.json.Decoder(list[tuple[float, str]])


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _warnings(answer: _Envelope) -> tuple[str, ...]:
    """Those of an answer; Thanos puts what the engine says of the query among them."""
    partial = ("the answer is flagged as partial",) if answer.isPartial else ()
    return (
        *(warning for warning in answer.warnings or () if not warning.startswith(_INFO)),
        *partial,
    )


def _check_url(url: str) -> str:
    """The address without a trailing slash, if it can be used."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        said = "the address (with credentials)" if "@" in url else f"{url!r} ({error})"
        raise SettingsError(f"{said} is not a URL", "write http://host:9090.") from error
    if parts.username is not None or parts.password is not None:
        shown = url.replace(parts.netloc.rpartition("@")[0], "***", 1)
        raise SettingsError(
            f"{shown} holds credentials, which end up in logs", "put a token into a file."
        )
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError(f"{url!r} is not an http or https URL", "write http://host:9090.")
    if parts.query or parts.fragment:
        raise SettingsError(f"{url!r} has a query or a fragment", "give only the path prefix.")
    return url.rstrip("/")


def _decode(body: bytes) -> _Envelope | None:
    try:
        return msgspec.json.decode(body, type=_Envelope)
    except (msgspec.DecodeError, RecursionError):
        return None


def _retry_after(headers: Any) -> float:
    try:
        seconds = float(headers.get("Retry-After", 0.5))
    except ValueError:
        return 0.5
    return 0.5 if math.isnan(seconds) else min(max(seconds, 0.0), MAX_WAIT)

"""Watches the table of replacements for the webhook and the extender."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import urllib3

from rescheduler.actions.api_call import Api, ServerClock, call, steady
from rescheduler.actions.steering.steering_format import read
from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.kube.nesting import decode_json
from rescheduler.model.moves.steering_entry import SteeringEntry
from rescheduler.wire.answers import date_of

LASTS = 240
"""Seconds after which the API server ends a watch, and it is begun again."""
_PAUSE = 1.0
_MOST_PAUSE = 16.0
"""Seconds before it begins again where it failed or ended within `_PAUSE`; doubled each time, up to
the most."""
_TIMEOUT = 5.0
_CHUNK = 2**16
_MOST = 2**22
"""Bytes of one event: a ConfigMap holds 1 MiB."""


class SteeringWatch:
    """Tells each state of the table with its resourceVersion, in a thread of its own.

    While the API server cannot be read, the last state stands: each entry has its own deadline.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        tell: Callable[[Sequence[SteeringEntry], str], None],
        clock: ServerClock,
    ) -> None:
        """clock: hears the API server's time, by which the deadlines in the table are set."""
        self.problem = "the table of replacements was not read yet"
        self._api = api
        self._tell = tell
        self._clock = clock
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Follow from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Follow no more."""
        self._stop.set()

    def _run(self) -> None:
        pause = _PAUSE
        while not self._stop.is_set():
            began = steady()
            try:
                version = self._list()
                self.problem = ""
                self._watch(version)
            except Exception as error:  # noqa: BLE001 - a thread that ended would tell nobody
                self.problem = f"{type(error).__name__}: {error}"
            pause = _PAUSE if steady() - began > _PAUSE else pause
            if self.problem or steady() - began <= _PAUSE:
                self._stop.wait(pause)
                pause = min(2 * pause, _MOST_PAUSE)

    def _list(self) -> str:
        """Tell the table as it is now; answers the version from which to watch."""
        query = f"?fieldSelector=metadata.name%3D{TABLE}"
        answer = call(self._api, "GET", self._collection + query, timeout=_TIMEOUT)
        self._clock.hear(answer.date)
        if not answer.ok:
            raise OSError(answer.message)
        items = answer.body.get("items") or [{}]
        self._take(items[0])
        return str((answer.body.get("metadata") or {}).get("resourceVersion", ""))

    def _watch(self, version: str) -> None:
        for event in self._events(version):
            kind, config_map = event.get("type"), event.get("object")
            if kind == "ERROR" or not isinstance(config_map, dict):
                return  # that version is gone
            if kind in ("ADDED", "MODIFIED"):
                self._take(config_map)
            elif kind == "DELETED":
                self._take({})

    def _take(self, table: dict[str, Any]) -> None:
        data = table.get("data")
        entries, _ = read(data if isinstance(data, dict) else {})
        self._tell(entries, str((table.get("metadata") or {}).get("resourceVersion", "")))

    def _events(self, version: str) -> Iterator[dict[str, Any]]:
        query = (
            f"?watch=1&fieldSelector=metadata.name%3D{TABLE}&resourceVersion={version}"
            f"&timeoutSeconds={LASTS}"
        )
        _, url, headers, _, _ = self._api.param_serialize(
            "GET",
            self._collection + query,
            query_params=[],
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
        )
        response = self._api.rest_client.pool_manager.request(
            "GET",
            url,
            headers=headers,
            timeout=urllib3.Timeout(connect=_TIMEOUT, read=LASTS + 30),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            self._clock.hear(date_of(response.headers.get("Date", "")))
            if response.status != 200:
                raise OSError(f"watching {self._collection}: {response.status}")
            rest = b""
            while not self._stop.is_set():
                part = response.read1(_CHUNK)
                if not part:
                    return
                *lines, rest = (rest + part).split(b"\n")
                if len(rest) > _MOST:
                    raise OSError("an event is larger than a ConfigMap can be")
                for line in lines:
                    yield decode_json(line, dict[str, Any])
        finally:
            response.close()

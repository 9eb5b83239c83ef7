"""A Prometheus of a few rows, answering the very queries of the catalogue."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.own_readings.definition import Series
from rescheduler.sources.prometheus.catalog import CATALOG, fill
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests.cluster import NOW
from tests.sources.server import Reply, Request, serving

AT = NOW.timestamp()
WINDOW = 300.0

Rows = Iterable[tuple[dict[str, str], Any]]


def sources_of(name: str) -> list[Series]:
    """All ways to a reading, exporter by exporter."""
    return [source for part in CATALOG[name] for source in part.sources]


def beside(name: str) -> Series | str:
    """What a reading asks for besides: the memory that is free, or the speed of a link."""
    first = CATALOG[name][0]
    if first.free is not None:
        return first.free
    assert first.capacity is not None
    assert first.capacity.query is not None
    return first.capacity.query


class Stub:
    """Answers by query text; a query that nobody prepared has an empty answer."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[dict[str, str], Any]]] = {}
        self.extra: dict[str, Any] = {}
        self.fail: Callable[[Request], Reply | None] = lambda _request: None

    def series(
        self,
        name: str,
        rows: Rows,
        *,
        age: float = 10.0,
        fresh: Rows | None = None,
        source: int = 0,
        count: float = 20.0,
    ) -> "Stub":
        """Rows behind a reading, all of that age unless `fresh` says otherwise.

        Gauges of devices are asked for as sum and number of samples; `rows` are their means.
        """
        self.source(sources_of(name)[source], list(rows), age, fresh, count)
        return self

    def beside(self, name: str, rows: Rows, *, count: float = 20.0) -> "Stub":
        self.source(beside(name), list(rows), 10.0, None, count)
        return self

    def source(
        self,
        source: Series | str,
        rows: list[tuple[dict[str, str], Any]],
        age: float,
        fresh: Rows | None,
        count: float,
    ) -> None:
        if isinstance(source, str):
            self._put(source, rows)
            return
        if source.count:
            self._put(source.count, [(labels, count) for labels, _ in rows])
            rows = [
                (labels, value * count if isinstance(value, int | float) else value)
                for labels, value in rows
            ]
        self._put(source.value, rows)
        ages = [(labels, age) for labels, _ in rows] if fresh is None else fresh
        self._put(source.dated, [(labels, AT - sample_age) for labels, sample_age in ages])

    def _put(self, template: str, rows: list[tuple[dict[str, str], Any]]) -> None:
        if template:
            self.rows[fill(template, WINDOW, "")] = rows

    def query(self, name: str, source: int = 0) -> str:
        """What is asked for the value."""
        return fill(sources_of(name)[source].value, WINDOW, "")

    def __call__(self, request: Request) -> Reply:
        failed = self.fail(request)
        if failed is not None:
            return failed
        query = request.query["query"]
        rows = self.rows.get(query, [])
        if query.endswith("vector(1)"):  # alone, or with the question of which clusters there are
            rows = [*rows, ({}, 1)]
        extra = {} if query == "vector(1)" else self.extra
        return vector(rows, **extra)


def vector(rows: Rows, **extra: Any) -> Reply:
    result = [{"metric": labels, "value": [AT, str(value)]} for labels, value in rows]
    return answer({"resultType": "vector", "result": result}, **extra)


def answer(data: Any, code: int = 200, **extra: Any) -> Reply:
    document = {"status": "success", "data": data, **extra}
    return Reply(json.dumps(document).encode(), code)


def read(stub: Stub, name: str, snapshot: Snapshot, **options: Any) -> Reading:
    """One reading of the stub."""
    limits = {
        key: options.pop(key) for key in ("max_age", "min_coverage", "links") if key in options
    }
    with serving(stub) as served:
        prometheus = Prometheus(served.url, **options)
        try:
            request = ReadingRequest(name, WINDOW, **limits)
            return read_readings(prometheus, [request], snapshot).entries[0]
        finally:
            prometheus.close()

"""Every query of the golden file, on every back end that has the same samples."""

import http.server
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rescheduler.documents.promql import selectors
from tests.e2e.backends.engines import SameSamples
from tests.e2e.recorded_answers import CASES, series
from tests.sources.golden_queries import GOLDEN

pytestmark = pytest.mark.e2e

WINDOW = 20
"""Seconds, instead of the five minutes of the golden file, and of the ten of its longest."""
SPANS = {"300s": "20s", "60s": "4s", "30s": "2s", "10m": "20s", "5m": "20s"}
SETTLED = 35
"""Seconds; of ranges VictoriaMetrics gives nothing younger than half a minute, as no past of ours
is."""
NEAR = 0.02
"""VictoriaMetrics does not extrapolate rates to the ends of their window."""


class Page(http.server.BaseHTTPRequestHandler):
    """All recorded answers as they are now, each with a label `case`."""

    began = time.time()

    def do_GET(self) -> None:
        ago = time.time() - self.began
        lines: dict[str, list[str]] = {}
        for case, answer in CASES:
            for name, shown, start, growth in series(case, answer):
                lines.setdefault(name, []).append(f"{shown} {start + growth * ago!r}\n")
        body = "".join(f"# TYPE {name} untyped\n{''.join(x)}" for name, x in lines.items()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SameSamples, float]]:
    """All back ends, and an instant before which they have the samples of the longest window."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = f"http://127.0.0.1:{server.server_port}/metrics"
    found = SameSamples(tmp_path_factory.mktemp("same"), page)
    try:
        span = WINDOW + 15 + SETTLED
        seen = f"count_over_time(node_time_seconds[{span}s]) > {span - 3}"
        limit = time.monotonic() + 240
        while not all(found.ask(engine, "query", {"query": seen}) for engine in found.engines):
            assert time.monotonic() < limit, "no back end without the samples"
            time.sleep(1)
        yield found, float(int(time.time() - SETTLED))
    finally:
        found.stop()
        server.shutdown()
        server.server_close()


def golden_queries() -> list[tuple[str, str]]:
    """Endpoint and query of each line, with shorter windows."""
    found = []
    for line in GOLDEN.read_text().splitlines():
        if line.startswith("  "):
            endpoint, query = line.strip().split(" ", 1)
            for span, short in SPANS.items():
                query = re.sub(rf"(?<=[\[:]){span}(?=[\]:])", short, query)
            found.append((endpoint, query))
    return sorted(set(found))


def metrics_of(query: str) -> set[str]:
    return {selector.partition("{")[0] for selector in selectors(query)}


Rows = dict[str, list[tuple[float, float]]]


def answered(rows: list[dict[str, Any]]) -> Rows:
    """The values of each row, by its labels without the name of its metric."""
    found: Rows = {}
    for row in rows:
        labels = {key: value for key, value in row["metric"].items() if key != "__name__"}
        values = row["values"] if "values" in row else [row["value"]]
        found[str(sorted(labels.items()))] = [(float(at), float(value)) for at, value in values]
    assert len(found) == len(rows)
    return found


def alike(one: Rows, other: Rows) -> bool:
    """Whether both have the same rows with about the same values at the same times."""
    return one.keys() == other.keys() and all(
        np.shape(values) == np.shape(other[row])
        and np.allclose(values, other[row], rtol=NEAR, atol=1e-6)
        for row, values in one.items()
    )


def test_every_query_is_accepted_and_answers_the_same(same: tuple[SameSamples, float]) -> None:
    engines, at = same
    ranged = {"start": repr(at - 10), "end": repr(at), "step": "5"}
    had = {case: {name for name, *_ in series(case, answer)} for case, answer in CASES}
    answering, differ = 0, []
    for endpoint, query in golden_queries():
        rows = 0
        for case in [case for case, names in had.items() if metrics_of(query) & names] or ["none"]:
            form = {"query": query.replace("{", f'{{case="{case}",')}
            form |= ranged if endpoint == "query_range" else {"time": repr(at)}
            found = {
                engine: answered(engines.ask(engine, endpoint, form)) for engine in engines.engines
            }
            first = found["prometheus"]
            rows += len(first)
            differ += [
                f"{engine}: {form['query']}\n  {found[engine]}\n  instead of {first}"
                for engine in found
                if not alike(first, found[engine])
            ]
        answering += rows > 0
    count = len(golden_queries())
    assert not differ, "\n".join([f"{len(differ)} differ", *differ[:20]])
    assert answering > count / 2, f"{answering} of {count} have an answer at all"

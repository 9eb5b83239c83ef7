"""Every query that is sent for a built-in reading or a preset, on every sort of back end.

After a wanted change: `python -m tests.sources.test_golden_queries`, and read the difference.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rescheduler.documents.promql import selectors
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.files.policy_set import readings_from_document
from rescheduler.policies.own_readings.shipped_documents import PRESETS
from rescheduler.runtime.reading_sources import BUILT_IN
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests import cluster
from tests.sources.golden_queries import GOLDEN
from tests.sources.metrics import AT
from tests.sources.server import Reply, Request, serving

WINDOW, SPAN = 300.0, 600.0
DEVICES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "habana.ai/gaudi", "rdma/hca")

ROW = {
    "node": "n1", "Hostname": "n1", "hostname": "n1", "node_name": "n1", "instance": "n1:9100",
    "UUID": "U0", "gpu": "0", "gpu_id": "0", "device": "eth0", "pci_bdf": "0", "chip": "c",
    "accelerator_id": "a", "mountpoint": "/",
}  # fmt: skip
"""One device of the two that each node has, so that every other way to the reading is tried."""


def before() -> Snapshot:
    """A node with two devices of each maker, and a pod that has one of each."""
    room = {"cpu": "8", "memory": "8Gi", "pods": "9", **dict.fromkeys(DEVICES, "2")}
    pods = [cluster.pod("p", "n1", requests=dict.fromkeys(DEVICES, "1"))]
    return cluster.snapshot([cluster.node("n1", allocatable=room)], pods)


def prometheus(_request: Request, _data: dict[str, Any]) -> Reply | None:
    return None


def thanos(request: Request, data: dict[str, Any]) -> Reply | None:
    """Its warnings hold what Prometheus has among the infos."""
    del request
    answer = {"status": "success", "data": data, "warnings": ["PromQL info: may not be a counter"]}
    return Reply(json.dumps(answer).encode())


def mimir(request: Request, _data: dict[str, Any]) -> Reply | None:
    """Behind a prefix, and of old behind gateways that pass no POST."""
    return Reply(b"{}", 405) if request.method == "POST" else None


def victoria(request: Request, data: dict[str, Any]) -> Reply | None:
    """It answers from a cache unless it is told not to, and has `isPartial` of its own."""
    assert request.query["nocache"] == "1"
    return Reply(json.dumps({"status": "success", "isPartial": False, "data": data}).encode())


Backend = Callable[[Request, dict[str, Any]], Reply | None]
BACKENDS: dict[str, tuple[str, Backend]] = {
    "prometheus": ("", prometheus),
    "thanos": ("", thanos),
    "mimir": ("/prometheus", mimir),
    "victoria-metrics": ("/select/0/prometheus", victoria),
}


def requests() -> Iterator[tuple[str, ReadingRequest]]:
    """What is asked for, by the name under which it is in the golden file."""
    for name in sorted(BUILT_IN):
        yield name, ReadingRequest(name, WINDOW, span=SPAN)
    for preset in sorted(PRESETS):
        document = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "Readings"}
        made = readings_from_document(
            {**document, "metadata": {"name": preset}, "spec": {"presets": [preset]}}
        )
        for name, own in sorted(made.definitions().items()):
            yield f"{preset} {name}", ReadingRequest(name, WINDOW, own=own)


def sent(request: ReadingRequest, backend: str, selector: str = "") -> list[str]:
    """The queries that this back end is sent for one reading, each with its endpoint."""
    prefix, behave = BACKENDS[backend]

    def answer(asked: Request) -> Reply:
        if " == 0" in asked.query["query"]:  # nothing is rejected
            empty = {"resultType": "vector", "result": []}
            return behave(asked, empty) or Reply(
                json.dumps({"status": "success", "data": empty}).encode()
            )
        query, ranged = asked.query["query"], "end" in asked.query
        row = {} if query.endswith("vector(1)") else ROW
        value = AT - 5 if "timestamp(" in query else 1.0
        times = [AT]
        if ranged:
            start, step = float(asked.query["start"]), float(asked.query["step"])
            times = [start + step * n for n in range(round((AT - start) / step) + 2)]
            times = [time for time in times if time <= float(asked.query["end"]) + 0.001]
        pairs = [[time, str(value - (AT - time) * ("timestamp(" in query))] for time in times]
        series = {"metric": row, "values": pairs} if ranged else {"metric": row, "value": pairs[0]}
        data = {"resultType": "matrix" if ranged else "vector", "result": [series]}
        made = behave(asked, data)
        return made or Reply(json.dumps({"status": "success", "data": data}).encode())

    with serving(answer) as served:
        source = Prometheus(served.url + prefix, selector=selector)
        try:
            read_readings(source, [request], before())
        finally:
            source.close()
    assert all(
        sent_request.path.startswith(f"{prefix}/api/v1/query") for sent_request in served.requests
    )
    found = [
        f"{sent_request.path.rpartition('/')[2]} {sent_request.query['query']}"
        for sent_request in served.requests
        if sent_request.query["query"] != "vector(1)"
        and not sent_request.query["query"].endswith(" or vector(1)")
    ]
    return sorted(set(found))


def golden(backend: str, selector: str = "") -> str:
    lines = []
    for name, request in requests():
        lines += [name, *(f"  {query}" for query in sent(request, backend, selector)), ""]
    return "\n".join(lines)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_back_end_is_sent_the_same_queries(backend: str) -> None:
    assert golden(backend) == GOLDEN.read_text()


def test_the_matchers_of_a_cluster_are_in_every_selector() -> None:
    match = 'cluster="eu-1",'
    narrowed = golden("prometheus", match.rstrip(","))
    assert narrowed.replace(match, "").replace(match[:-1], "") == GOLDEN.read_text()
    queries = [line.split(" ", 3)[3] for line in narrowed.splitlines() if line.startswith("  ")]
    assert all(match[:-1] in selector for query in queries for selector in selectors(query))


if __name__ == "__main__":
    GOLDEN.write_text(golden("prometheus"))
    sys.stdout.write(f"{GOLDEN}\n")

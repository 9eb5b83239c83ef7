"""Reading one value from a metric source, and a secret that no message may have."""

from typing import Any

from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.sources.prometheus.http.access import Access
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests import cluster
from tests.sources.metrics import Stub

SECRET = "canary-of-a-secret"


def stub() -> Stub:
    return Stub().series("node.memory", [({"instance": "n1"}, 0.5)])


def read(url: str, access: Access, **options: Any) -> str:
    """What is wrong with a reading from there, "" for nothing; no secret is in it."""
    prometheus = Prometheus(url, access=access, **options)
    try:
        nodes = cluster.snapshot([cluster.node("n1")], [])
        (found,) = read_readings(prometheus, [ReadingRequest("node.memory")], nodes).entries
    finally:
        prometheus.close()
    text = "" if found.problem is None else f"{found.problem.code} {found.problem.message}"
    assert SECRET not in text
    assert SECRET not in repr(found)
    return text

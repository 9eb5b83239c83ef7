"""On a real API server: a first run begins slowly, and a state that went back is not believed."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import (
    NAMESPACE,
    USER,
    WINDOW,
    Loop,
    install,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def test_a_first_run_begins_slowly_and_an_older_state_is_noticed(
    binary: Path, cluster: Cluster, metrics: Metrics, tmp_path: Path
) -> None:
    actor = Program(binary, install(cluster, "enforce-cronjob", tmp_path, first=True), metrics.url)
    hot_gpus(cluster, count=20, hot=2)
    metrics.warm(2 * WINDOW)
    loop = Loop(actor, write_policies(tmp_path / "policies", utilization(gpu="50%"), swift()))
    audit = cluster.control_plane.audit

    def evictions(since: int) -> int:
        return sum(eviction.code == 201 for eviction in audit.since(since).evictions(by=USER))

    mark = audit.mark()
    loop.once()
    assert evictions(mark) == 1, "one move in each of the first cycles"
    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    older = {key: state[key] for key in ("data", "binaryData")}
    loop.once()
    assert evictions(mark) == 2

    cluster.api.patch(state, older)
    mark = audit.mark()
    report = loop.once(code=1)
    assert report["verdict"]["code"] == "GRD004"
    assert "older than it was" in report["verdict"]["message"]
    assert report["moves"], "it reports what it would do"
    assert evictions(mark) == 0

    # The manifests of deploy/ once more, as a replacement of what is there.
    install(cluster, "enforce-cronjob", tmp_path, first=True)
    report = loop.once(code=1)
    assert report["verdict"]["code"] == "GRD004"
    assert (
        "holds no state, but the Lease records that there was one" in (report["verdict"]["message"])
    )
    assert evictions(mark) == 0

    cluster.api.patch(state, {"data": {"budgets": "forget"}})
    loop.once()
    assert evictions(mark) == 1, "it begins slowly again"
    found = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    assert "budgets" not in found["data"]
    stored = json.loads(gzip.decompress(base64.b64decode(found["binaryData"]["state"])))
    lease = cluster.api.read("coordination.k8s.io/v1", "Lease", "rescheduler", NAMESPACE)
    noted = json.loads(lease["metadata"]["annotations"]["rescheduler.io/ledger"])
    assert (noted["fence"], noted["sequence"]) == (stored["fence"], stored["sequence"])
    assert noted["checksum"] == found["data"]["checksum"]

"""What a tenant writes into its objects keeps nobody's pods from being repaired."""

from pathlib import Path

import msgspec
import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import SPREAD, Loop, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

DEPTH = 9_000
"""The API server takes 10,000 levels."""

DEEP = msgspec.Raw(b'{"f:a":' * DEPTH + b"{}" + b"}" * DEPTH)
FIELDS = {"manager": "tenant", "operation": "Update", "apiVersion": "v1", "fieldsV1": DEEP}
FIELDS |= {"fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z"}


def test_objects_that_nest_deeply_are_read_and_moved_as_others(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(4, cpu=16, zones=["a", "b"]))
    cluster.arrange([(deployment("web", 4, cpu=1, memory="1Gi"), ["n1", "n1", "n3", "n3"])])
    api = cluster.control_plane.api
    at = "/namespaces/default"
    paths = [f"/api/v1{at}/pods/{pod['metadata']['name']}" for pod in cluster.pods("web")]
    (owner,) = api.request("GET", f"/apis/apps/v1{at}/replicasets")["items"]
    paths += [f"/apis/apps/v1{at}/replicasets/{owner['metadata']['name']}", "/api/v1/nodes/n2"]
    for path in paths:
        patch = {"metadata": {"managedFields": [FIELDS]}}
        api.request("PATCH", path, patch, content_type="application/merge-patch+json")
    policies = write_policies(tmp_path / "policies", SPREAD, swift())

    moves = Loop(actor, policies).until_content()

    assert len(moves) == 2
    assert {move["landedOn"] for move in moves} <= {"n2", "n4"}

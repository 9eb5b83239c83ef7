"""One hot GPU of several that pods share is found, relieved, and measured again."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import Load
from tests.e2e.builders.nodes import node
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import WINDOW, Loop, plan, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

POLICY = f"""
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {{name: hot-gpus}}
spec:
  match: {{all: true}}
  nodes: {{all: true}}
  targets:
    gpu: {{high: 80%, low: 70%}}
  window: {WINDOW}s
  maxAge: 15s
"""


def test_one_hot_gpu_of_a_node_is_relieved(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    shared = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    whole = node("whole", cpu=16, gpus=1)
    cluster.create(*(node(f"n{number}", cpu=16, gpus=8, labels=shared) for number in range(1, 7)))
    cluster.create(whole)
    # In this order the plugin gives both heavy pods the first GPU and both light ones the second.
    loads = {"heavy-a": 0.45, "light-a": 0.1, "heavy-b": 0.45, "light-b": 0.1}
    for other, (app, busy) in enumerate(loads.items(), 3):
        made = deployment(app, 2, cpu=1, memory="1Gi", gpus=1, load=Load(gpu=busy))
        cluster.arrange([(made, ["n1", f"n{other}"])])
    alone = deployment("train", cpu=1, memory="1Gi", gpus=1, load=Load(gpu=0.97))
    cluster.arrange([(alone, ["whole"])])
    policies = write_policies(tmp_path / "policies", POLICY, swift())
    metrics.warm(2 * WINDOW)

    loop = Loop(actor, policies)
    moves = loop.until_content()

    (finding,) = loop.reports[0]["policies"][0]["findings"]
    assert (finding["code"], finding["subject"]) == ("UTL003", "node n1")
    assert "node.gpu of GPU 0 (GPU-" in finding["message"]
    assert "is 90.0%" in finding["message"]
    (move,) = moves
    assert move["pod"]["name"].startswith("heavy-")
    assert move["landedOn"] not in ("n1", "whole")
    metrics.warm(WINDOW + 5)
    _, after = plan(actor, policies)
    assert after["policies"][0]["problem"] is None
    assert after["policies"][0]["cost"]["before"] == 0
    measured = {node["name"]: node["load"]["node.gpu"]["before"] for node in after["nodes"]}
    assert measured["n1"] == pytest.approx((0.45 + 0.2) / 2, abs=0.02)
    assert measured["whole"] == pytest.approx(0.97, abs=0.02)

"""A GPU's error is reported by default, and the pod that has it is moved when that is asked."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import PREFIX, Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import USER, Loop, only_evictions_and_own_state, plan, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

HEALTH = """
apiVersion: rescheduler.io/v1alpha1
kind: Health
metadata: {{name: broken}}
spec:
  nodes: {{all: true}}
  match: {{namespaces: [default]}}
  action: {action}
  signs: {{xid: true, remap: true, drops: 1%, retransmits: 5%}}
  window: 10m
  maxAge: 15s
"""


def test_an_xid_is_reported_and_who_has_the_gpu_is_moved_when_told(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(6, cpu=32, memory="128Gi", gpus=8))
    load = Load(gpu=0.5, cpu=0.5, transmit=1e6, receive=1e6)
    train = deployment("train", 4, gpus=1, cpu=1, memory="1Gi", load=load)
    serve = deployment("serve", 4, gpus=1, cpu=1, memory="1Gi", load=load)
    web = deployment("web", 3, cpu=1, memory="1Gi", load=Load(cpu=0.5))
    cluster.create(*(budget(app, max_unavailable=1) for app in ("train", "serve", "web")))
    spread = ["n1", "n2", "n3", "n4"]
    cluster.arrange([(train, spread), (serve, spread), (web, ["n1", "n2", "n3"])])
    metrics.warm(10)
    report = write_policies(tmp_path / "report", HEALTH.format(action="Report"), swift())
    drain = write_policies(tmp_path / "drain", HEALTH.format(action="Drain"), swift())

    _, sound = plan(actor, drain)
    assert sound["policies"][0]["problem"] is None, sound["policies"][0]
    assert sound["policies"][0]["cost"]["before"] == 0
    assert sound["moves"] == []

    # The second GPU of n1 breaks: one of its two pods with GPUs has it.
    [broken] = [n for n in cluster.api.items("v1", "Node") if n["metadata"]["name"] == "n1"]
    cluster.annotate(broken, **{f"{PREFIX}xid": "79", f"{PREFIX}xid-device": "1"})
    query = "DCGM_FI_DEV_XID_ERRORS == 79"
    metrics.prometheus.wait_for(query, deadline=60)
    [(labels, _)] = metrics.prometheus.query(query)
    assert labels["gpu"] == "1"
    holder = labels["exported_pod"]

    loop = Loop(actor, report)
    reported = loop.once()
    assert reported["moves"] == []
    [finding] = reported["policies"][0]["findings"]
    gpu = f"GPU 1 ({labels['UUID']}) of node n1"
    assert (finding["code"], finding["subject"]) == ("HLT002", gpu)
    assert "XID 79" in finding["message"]
    assert reported["policies"][0]["cost"]["before"] == 1
    assert cluster.placement()["n1"] == 3

    mark = cluster.control_plane.audit.mark()
    loop = Loop(actor, drain)
    moves = loop.until_content()
    cluster.settled()

    [move] = moves
    assert (move["pod"]["name"], move["node"]) == (holder, "n1")
    assert move["landedOn"] != "n1"
    app = holder.split("-")[0]
    assert cluster.placement(app)["n1"] == 0
    assert cluster.placement()["n1"] == 2
    after = loop.reports[-1]["policies"][0]
    assert after["cost"]["before"] == 0
    # The GPU is still broken, and nobody's.
    notes = [note["message"] for note in loop.reports[-1]["notes"] if note["code"] == "HLT002"]
    assert len(notes) == 1
    assert gpu in notes[0]
    assert notes[0].endswith("no pod has it")
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 1
    only_evictions_and_own_state(records)

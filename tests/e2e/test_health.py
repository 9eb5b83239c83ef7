"""A GPU that reports an error is told of by default, and its node drained when that is asked."""

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


def test_an_xid_is_reported_and_its_node_drained_when_told(
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

    [broken] = [n for n in cluster.api.items("v1", "Node") if n["metadata"]["name"] == "n1"]
    cluster.annotate(broken, **{f"{PREFIX}xid": "79"})
    query = "max(DCGM_FI_DEV_XID_ERRORS) == 79"
    metrics.prometheus.wait_for(query, deadline=60)

    loop = Loop(actor, report)
    told = loop.once()
    assert told["moves"] == []
    [finding] = told["policies"][0]["findings"]
    assert (finding["code"], finding["subject"]) == ("HLT001", "node n1")
    assert "XID 79" in finding["message"]
    assert cluster.placement()["n1"] == 3

    mark = cluster.control_plane.audit.mark()
    loop = Loop(actor, drain)
    moves = loop.until_content()
    cluster.settled()

    assert {move["pod"]["name"].split("-")[0] for move in moves} == {"train", "serve"}
    assert all(move["node"] == "n1" and move["landedOn"] != "n1" for move in moves)
    assert len(moves) == 2
    assert cluster.placement("web")["n1"] == 1
    assert cluster.placement("train")["n1"] == cluster.placement("serve")["n1"] == 0
    assert loop.reports[-1]["policies"][0]["cost"]["before"] == 0
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 2
    only_evictions_and_own_state(records)

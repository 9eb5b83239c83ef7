"""A reading that an operator defines is a target: trouble, repair, and measured again."""

import json
from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import (
    USER,
    WINDOW,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    plan,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

QUEUES = """
apiVersion: rescheduler.io/v1alpha1
kind: Readings
metadata: {name: serving}
spec:
  presets: [amd]
  readings:
    node.queue:
      value: sum by (node) (avg_over_time(inference_queue_length{$match}[$window]))
      fresh: min by (node) (timestamp(inference_queue_length{$match}))
      unit: count
      capacity: {fixed: 100}
      nodes: {labels: {matchLabels: {topology.kubernetes.io/zone: a}}}
    pod.queue:
      value: max by (node, namespace, pod) (avg_over_time(inference_queue_length{$match}[$window]))
      fresh: min by (node, namespace, pod) (timestamp(inference_queue_length{$match}))
      unit: count
      pods: {labels: {matchExpressions: [{key: app, operator: In, values: [chat, code, long]}]}}
"""
LOADS = {"chat": 36.0, "code": 35.0, "long": 34.0}
"""Requests that wait for each pod; the three together are too many for one node."""


def test_long_queues_are_shortened_and_found_short_again(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(5, cpu=16, memory="64Gi", zones=["a"]))
    own = [deployment(a, 2, cpu=1, memory="1Gi", load=Load(queue=q)) for a, q in LOADS.items()]
    calm = deployment("calm", 4, cpu=1, memory="1Gi", load=Load(cpu=0.5))
    few = deployment("few", 4, cpu=1, memory="1Gi", load=Load(queue=5.0))
    cluster.arrange(
        [
            *((manifest, ["n1", f"n{n}"]) for n, manifest in enumerate(own, start=3)),
            (few, {"n2": 1, "n3": 1, "n4": 1, "n5": 1}),
            (calm, {"n2": 1, "n3": 1, "n4": 1, "n5": 1}),
        ]
    )
    metrics.warm(WINDOW)
    wanted = utilization(cpu="90%").replace("cpu: {high: 90%}", "own: {queue: {high: 80%}}")
    policies = write_policies(tmp_path / "policies", QUEUES, wanted, swift())

    checked = actor.run("check", policies, "-o", "json")
    assert checked.code == 0, checked.stderr
    told = {reading["name"]: reading for reading in json.loads(checked.stdout)["readings"]}
    assert (told["node.queue"]["withValue"], told["node.queue"]["most"]) == (5, pytest.approx(1.05))
    assert (told["pod.queue"]["withValue"], told["pod.queue"]["expected"]) == (6, 6)
    assert told["node.queue"]["series"] == 10  # values and times of five nodes
    assert told["node.queue"]["samples"] > 5 * WINDOW / 2
    assert 0 < told["node.queue"]["seconds"] < 5

    loop = Loop(actor, policies)
    mark = cluster.control_plane.audit.mark()
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled()
    records = cluster.control_plane.audit.since(mark)
    only_evictions_and_own_state(records)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == len(moves) == 1
    assert not breaches()
    assert moves[0]["node"] == "n1"
    assert moves[0]["pod"]["name"].partition("-")[0] in LOADS
    first = loop.reports[0]
    assert first["policies"][0]["cost"]["before"] > 0
    metrics.warm(WINDOW)  # until no sample from before the move is in the window any more
    _, again = plan(actor, policies)
    assert again["policies"][0]["cost"]["before"] == 0, "measured again, and not only predicted"
    assert first["ownReadings"][0]["spec"]["presets"] == ["amd"], "a plan holds what it asked"

"""Coverage is of what the policies look at; who has no value is named, by cause."""

from dataclasses import replace

import numpy as np
import pytest

from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.idlegpus.policy import IdleGPUs
from rescheduler.policies.match import Match
from rescheduler.policies.shared.coverage import check_coverage, too_few
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.runtime.inspecting.checking import answers
from rescheduler.sources.prometheus.catalog import CATALOG, fill
from tests import cluster
from tests.sources.metrics import Stub, read

MAKERS = {"nvidia.com/gpu": 4, "amd.com/gpu": 7, "gpu.intel.com/xe": 2}


def fleet() -> Snapshot:
    """Nodes of three makers, each with a GPU and the pod that has it."""
    nodes, pods = [], []
    for resource, count in MAKERS.items():
        maker = resource.split(".")[-2] if resource.startswith("gpu.") else resource.split(".")[0]
        for n in range(count):
            name = f"{maker}-{n}"
            nodes.append(cluster.node(name, allocatable={resource: "1"}, labels={"maker": maker}))
            pods.append(cluster.pod(f"w-{name}", name, requests={resource: "1"}))
    return cluster.snapshot(nodes, pods)


def of(name: str, before: Snapshot) -> Reading:
    rows = [
        (
            {"Hostname": f"nvidia-{n}", "UUID": f"G{n}", "exported_namespace": "default",
             "exported_pod": f"w-nvidia-{n}"},
            0.5,
        )
        for n in range(4)
    ]  # fmt: skip
    return read(Stub().series(name, rows), name, before)


def selecting(**labels: str) -> Utilization:
    nodes = {"labels": {"matchLabels": labels}} if labels else {"all": True}
    return Utilization.model_validate(
        {"name": "hot", "nodes": nodes, "match": {"all": True}, "targets": {"gpu": {"high": "80%"}}}
    )


def test_nodes_that_no_policy_selects_make_no_reading_unfit() -> None:
    before = fleet()
    policy = selecting(maker="nvidia")
    asked = {request.name: request for request in policy.requests()}
    reading = replace(of("node.gpu", before), request=asked["node.gpu"])
    assert reading.low_coverage
    expected, problem = check_coverage(reading, [policy], before)
    assert (int(expected.sum()), problem, reading.coverage_of(expected)) == (4, None, 1.0)
    seen = replace(before, readings=Readings((reading,)))
    [answer] = [
        reading_answer
        for reading_answer in answers(policy_set([policy]), seen)
        if reading_answer.name == "node.gpu"
    ]
    assert (answer.withValue, answer.expected, answer.problem) == (4, 4, None)


def test_who_has_no_value_is_named_by_cause() -> None:
    before = fleet()
    policy = selecting()
    asked = {request.name: request for request in policy.requests()}
    reading = replace(of("node.gpu", before), request=asked["node.gpu"])
    _, problem = check_coverage(reading, [policy], before)
    assert problem is not None
    assert problem.message == (
        "node.gpu has a fresh value for 4 of 13 nodes that the policy selects, less than 90%. "
        "No value: amd-0, amd-1, amd-2, amd-3, amd-4 and 2 more (no series gpu_gfx_activity: needs "
        "AMD's device-metrics-exporter); intel-0, intel-1 (no series hw_gpu_utilization_ratio: "
        "needs Intel XPU Manager 2)"
    )


def test_pods_whose_exporter_tells_no_pods_are_not_expected() -> None:
    before = fleet()
    reading = of("pod.gpu", before)
    told = [pod.metadata.name for pod, expected in zip(before.pods, reading.expected, strict=True)
            if expected]  # fmt: skip
    assert not any("intel" in pod_name for pod_name in told)
    assert len(told) == 11
    assert any("GPUs of intel, whose exporter does not report pods (2," in n for n in reading.notes)
    policy = IdleGPUs(name="idle", match=Match(all=True))
    [request] = policy.requests()
    past = np.tile(reading.values, (1, 1))
    known = replace(reading, request=request, range_samples=past)
    few = too_few(before, known, ~np.isnan(known.values), known.expected)
    assert isinstance(few, Problem)
    assert "4 of 11 pods" in few.message
    assert "default/w-amd-0" in few.message
    assert "intel" not in few.message


def test_a_contradiction_costs_the_node_and_not_the_policy() -> None:
    before = cluster.snapshot([cluster.node(f"n{n}") for n in range(12)], [])
    rows = [({"instance": f"n{n}"}, 0.5) for n in range(12)]
    rows += [({"instance": f"n{n}", "job": "tenant"}, 0.9) for n in range(2)]
    reading = read(Stub().series("node.memory", rows), "node.memory", before)
    assert np.isnan(reading.values[:2]).all()
    everybody = np.ones(12, dtype=np.bool_)
    assert too_few(before, reading, ~np.isnan(reading.values), everybody) is None
    two = everybody & (np.arange(12) < 2)
    problem = too_few(before, reading, ~np.isnan(reading.values), two)
    assert problem is not None
    assert problem.code == "RDG005"
    assert "No value: n0, n1 (several series that differ)" in problem.message


def hot_memory(before: Snapshot) -> tuple[Utilization, dict[str, ReadingRequest]]:
    policy = Utilization.model_validate(
        {
            "name": "hot",
            "nodes": {"labels": {"matchExpressions": [{"key": "out", "operator": "DoesNotExist"}]}},
            "match": {"all": True},
            "targets": {"memory": {"high": "80%"}},
        }
    )
    return policy, {request.name: request for request in policy.requests()}


@pytest.mark.parametrize("code", ["RDG005", "RDG016"])
def test_each_policy_that_sees_the_node_has_the_contradiction(code: str) -> None:
    before = cluster.snapshot(
        [cluster.node(f"n{n}", labels={"out": "1"} if n == 1 else {}) for n in range(12)], []
    )
    rows = [({"instance": f"n{n}"}, 0.5) for n in range(12)]
    stub = Stub()
    if code == "RDG005":
        rows += [({"instance": f"n{n}", "job": "tenant"}, 0.9) for n in range(2)]
        detail = 'several series that differ: 0.5 by {}, 0.9 by {job="tenant"} of {instance="n0"}'
    else:
        query = fill(CATALOG["node.memory"][0].rejectWhen[0].query, 300.0, "")
        stub.rows[query] = [({"instance": f"n{n}"}, 0.0) for n in range(2)]
        detail = "nodes whose counters stand still: no context switch in the window: "
        detail += '{instance="n0"}'
    policy, asked = hot_memory(before)
    reading = read(stub.series("node.memory", rows), "node.memory", before)
    pods = replace(reading, request=asked["pod.memory"], values=np.empty(0), ages=np.empty(0),
                   expected=np.empty(0, dtype=np.bool_), missing=(), capacity=None)  # fmt: skip
    entries = (replace(reading, request=asked["node.memory"]), pods)
    before = replace(before, readings=Readings(entries))
    [result] = plan(before, policy_set([policy]), History(), mode="Enforce").policies
    assert result.problem is None, "it costs the node, not the policy"
    assert [(finding.code, finding.subject, finding.cost) for finding in result.findings] == [
        (code, "node n0", 0.0)
    ]
    assert result.findings[0].message == f"node.memory is not known: {detail}"

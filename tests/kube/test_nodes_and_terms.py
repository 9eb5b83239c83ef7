"""Anybody who asks which nodes or pods are meant gets the answer of kube-scheduler."""

import msgspec
import pytest

from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import Pod, TopologySpreadConstraint
from rescheduler.kube.storage import PersistentVolume, PersistentVolumeClaim
from rescheduler.planning.eligibility.volume_checks import Attachments
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match
from rescheduler.policies.shared.acceptance import Acceptance
from rescheduler.policies.spread.spread_counts import from_pods
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import node, pod, snapshot


@pytest.mark.parametrize("operator", ["", "Equal"])
def test_an_empty_key_tolerates_every_key(operator: str) -> None:
    tolerations = [{"key": "", "operator": operator, "value": ""}]
    taints = [{"key": "gpu", "value": "", "effect": "NoSchedule"}]
    nodes = [node("a"), node("b", taints=taints)]
    made = snapshot(nodes, [pod("p", "a", tolerations=tolerations)])
    assert Acceptance(made).tolerated_nodes(made.pods[0].spec).tolist() == [True, True]
    assert SchedulerModel(made).feasible(0).tolist() == [True, True]


def test_a_field_that_must_be_one_of_two_names_is_no_field() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]
    volume = msgspec.convert(
        {
            "metadata": {"name": "v"},
            "spec": {
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchFields": fields}]}}
            },
        },
        PersistentVolume,
    )
    claim = msgspec.convert(
        {
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"volumeName": "v"},
            "status": {"phase": "Bound"},
        },
        PersistentVolumeClaim,
    )
    used = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    made = snapshot(
        [node("a"), node("b")], [pod("p", "a", volumes=used)], claims=[claim], volumes=[volume]
    )
    refusal = Attachments(made).refuse_pinned(made.pods[0])
    assert refusal is not None
    assert "which 0 node can reach" in refusal.message


def spreading(name: str, on: str, version: str) -> Pod:
    constraint = msgspec.convert(
        {
            "topologyKey": "zone",
            "labelSelector": {"matchLabels": {"version": "1"}},
            "matchLabelKeys": ["version"],
        },
        TopologySpreadConstraint,
    )
    made = pod(name, on, labels={"version": version})
    made.spec.topologySpreadConstraints = [constraint]
    return made


def test_a_label_key_that_contradicts_its_selector_selects_nobody() -> None:
    nodes = [node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"})]
    made = snapshot(nodes, [spreading("p", "a", "1"), spreading("q", "a", "1")])
    assert SchedulerModel(made).feasible(0).tolist() == [False, True]
    assert len(from_pods(Match(all=True), NodeMatch(all=True), made).spread_counts) == 1
    others = [spreading(name, "a", "1") for name in "qr"]
    relabeled = snapshot(nodes, [spreading("p", "a", "2"), *others])
    assert SchedulerModel(relabeled).feasible(0).tolist() == [True, True]


def test_labels_that_no_node_has_take_no_memory_for_each_node() -> None:
    # A pod may select by some ten thousand labels that it invents.
    labels = NodeLabels([node("n1", labels={"disk": "ssd"}), node("n2")])
    assert labels.column("tenant.example/0") is labels.column("tenant.example/1")
    assert not labels.column("tenant.example/0").present.any()
    assert labels.nodes_with_labels({"disk": "ssd"}).tolist() == [True, False]
    assert not labels.nodes_with_labels({"disk": "ssd", "tenant.example/0": "x"}).any()
    assert not labels.nodes_with_labels({"disk": "hdd"}).any()

"""The words of the scheduler's events, node by node."""

from typing import Any

import numpy as np
import pytest

from rescheduler.kube.objects import Pod
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.rejections import event_text
from tests.cluster import node, pod, snapshot
from tests.scheduler.drawn import given
from tests.scheduler.random_clusters import snapshots

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
RED = {"labelSelector": {"matchLabels": {"app": "red"}}, "topologyKey": HOST}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def said(nodes: list[Any], *pods: Pod) -> str:
    """The event's text about the last of these pods."""
    model = SchedulerModel(snapshot(nodes, list(pods)))
    return event_text(model.rejections(len(pods) - 1), len(nodes))


def test_every_node_is_counted_by_the_first_plugin_that_rejects_it() -> None:
    nodes = [
        node("a", unschedulable=True, taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("b", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("c", allocatable={"cpu": "1"}),
        node("d", allocatable={"cpu": "1"}),
        node("e"),
    ]
    text = said(nodes, pod("p", requests={"cpu": "2"}, nodeSelector={HOST: "c"}))
    assert text == (
        "0/5 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector."
    )


def test_all_resources_that_are_short_are_named() -> None:
    nodes = [node("a", allocatable={"cpu": "1", "memory": "1Gi", "pods": "0"}), node("b")]
    asked = {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "1"}
    assert said(nodes, pod("p", requests=asked)) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods, "
        "2 Insufficient nvidia.com/gpu."
    )


@pytest.mark.parametrize(
    ("affinity", "words"),
    [
        ({"podAffinity": {REQUIRED: [RED]}}, "2 node(s) didn't match pod affinity rules"),
        (
            {"podAffinity": {REQUIRED: [{**RED, "topologyKey": "rack"}]}},
            "3 node(s) didn't match pod affinity rules",
        ),
        ({"podAntiAffinity": {REQUIRED: [RED]}}, "1 node(s) didn't match pod anti-affinity rules"),
    ],
)
def test_terms_between_pods_are_distinguished(affinity: dict[str, Any], words: str) -> None:
    nodes = [node(name) for name in "abc"]
    red = pod("red", "a", labels={"app": "red"})
    assert words in said(nodes, red, pod("p", affinity=affinity))


def test_the_anti_affinity_of_bound_pods_has_its_own_words() -> None:
    hater = pod("h", "a", affinity={"podAntiAffinity": {REQUIRED: [RED]}})
    text = said([node("a")], hater, pod("p", labels={"app": "red"}))
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in text


def test_a_missing_label_and_too_great_a_skew_are_distinguished() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "red"}},
    }
    nodes = [node("a", zone="1"), node("b", zone="2", unschedulable=True), node("c")]
    reds = [pod(name, "a", labels={"app": "red"}) for name in ("r1", "r2")]
    text = said(nodes, *reds, pod("p", labels={"app": "red"}, topologySpreadConstraints=[spread]))
    assert text == (
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label), "
        "1 node(s) were unschedulable."
    )


def test_nodes_that_the_pod_does_not_name_are_not_scanned() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}
    nodes = [node("a", unschedulable=True), node("b", allocatable={"cpu": "0"}), node("c")]
    assert said(nodes, pod("p", affinity=affinity)) == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


@given(snapshots())
def test_rejected_nodes_have_reasons_and_no_others_have(made: Any) -> None:
    model = SchedulerModel(made)
    for number in range(len(made.pods)):
        reported = np.zeros(len(made.nodes), dtype=np.bool_)
        for rejection in model.rejections(number):
            assert "were rejected by" not in rejection.reason
            reported |= rejection.nodes
        verdicts = model.verdicts(number)
        if verdicts.landing.refusal is None:
            assert (reported == ~verdicts.feasible).all()

"""Inter-pod terms that differ in their words alone are one to the model of the scheduler."""

from typing import Any

import numpy as np

from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugins.inter_pod_affinity import TermIndex
from tests.cluster import node, pod, snapshot

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def repelling(name: str, on: str, without: str, key: str = HOST) -> Pod:
    """A pod that repels everybody who lacks that label."""
    lacking = [{"key": without, "operator": "DoesNotExist"}]
    term: dict[str, Any] = {"topologyKey": key, "namespaceSelector": {}}
    term["labelSelector"] = {"matchExpressions": lacking}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(name, on, namespace="tenant", affinity={"podAntiAffinity": required})


def test_terms_that_select_the_same_pods_are_one() -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    pods = [repelling("a", "n1", "x1"), repelling("b", "n2", "x2"), pod("web", "n3")]
    pods.append(repelling("c", "n3", "x3", key="tenant.example/none"))
    pods.append(repelling("d", "n1", ZONE))
    made = snapshot(nodes, pods)
    everyone = np.arange(len(pods), dtype=np.int32)
    model = SchedulerModel(made)
    groups = LabelGroups(pods, everyone)
    index = TermIndex(pods, everyone, made.namespace_labels, groups, NodeLabels(nodes))
    found = index.matching_terms(model._shape(pods[2]).replacement)
    assert sorted(term.pods.tolist() for term in found) == [[0, 1], [4]]
    assert model.feasible(2).tolist() == [False, False, True]

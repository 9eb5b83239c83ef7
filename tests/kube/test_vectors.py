"""What Kubernetes' own code answers, and what the rules here do."""

from typing import Any

import msgspec
import numpy as np

from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import Node, Pod, PodAffinityTerm, PodSpec, Taint, Toleration
from rescheduler.kube.pods.affinity_terms import is_about
from rescheduler.kube.pods.node_selection import NodeSelection, node_affinity
from rescheduler.kube.pods.pod_requests import Amounts, pod_limits, pod_requests, scheduler_units
from rescheduler.kube.pods.tolerations import NodeTaints, tolerates
from rescheduler.kube.quantity import nanos
from rescheduler.planning.limits.quotas import quota_use
from rescheduler.policies.shared.demand import Demand, Devices, demand
from rescheduler.scheduler.requests import incoming_requests, running_requests
from tests.cases import every, numbered
from tests.kube import vectors

DEVICES = Devices("nvidia.com/gpu", "example.com/share")


def exact(answer: dict[str, str]) -> Amounts:
    """Quantities as Kubernetes wrote them, without zeros, which it writes or not."""
    return {name: amount for name, text in answer.items() if (amount := nanos(text))}


def rounded(answer: dict[str, str]) -> dict[str, int]:
    return {name: scheduler_units(name, amount) for name, amount in exact(answer).items()}


def plain(answer: Amounts) -> Amounts:
    return {name: amount for name, amount in answer.items() if amount}


PODS = [(msgspec.convert(case["pod"], Pod), case) for case in vectors.answered("pods")]


def test_the_vectors_are_of_the_questions() -> None:
    for kind, asked in vectors.questions().items():
        kept = vectors.answered(kind)
        assert len(kept) == len(asked)
        for one, other in zip(kept, asked, strict=True):
            assert {name: one[name] for name in other} == other


@every(numbered(PODS))
def test_requests_and_limits_are_added_up_as_kubernetes_does(pod: Pod, answer: Any) -> None:
    assert plain(pod_requests(pod.spec)) == exact(answer["incoming"])
    assert plain(pod_limits(pod.spec)) == exact(answer["limits"])


@every(numbered(PODS))
def test_the_scheduler_sees_the_same_requests_rounded_once(pod: Pod, answer: Any) -> None:
    asked = incoming_requests(pod.spec)
    assert asked.plain == rounded(answer["incoming"])
    scored = rounded(answer["scored"])
    assert (asked.cpu, asked.memory) == (scored.get("cpu", 0), scored.get("memory", 0))
    assert running_requests(pod).plain == rounded(answer["running"])


@every(numbered(PODS))
def test_policies_see_the_same_requests(pod: Pod, answer: Any) -> None:
    asked = rounded(answer["incoming"])
    share = min(1000, asked.get("example.com/share", 0))
    expected = Demand(
        asked.get("cpu", 0), asked.get("memory", 0), asked.get("nvidia.com/gpu", 0), share
    )
    assert demand(pod.spec, DEVICES) == expected


@every(numbered(PODS))
def test_a_quota_counts_the_same(pod: Pod, answer: Any) -> None:
    assert plain(quota_use(pod)) == exact(answer["quota"])


def test_a_toleration_covers_the_taints_that_it_does_in_kubernetes() -> None:
    for case in vectors.answered("taints"):
        toleration = msgspec.convert(case["toleration"], Toleration)
        taint = msgspec.convert(case["taint"], Taint)
        assert tolerates(toleration, taint) is case["tolerates"], case
        node = Node()
        node.spec.taints = [taint]
        table = NodeTaints([node])
        hard = taint.effect != "PreferNoSchedule"
        assert table.tolerated_nodes([toleration]).tolist() == [not hard or case["tolerates"]]
        assert table.count_soft_taints([toleration]).tolist() == [
            int(not hard and not case["tolerates"])
        ]


@every(numbered(vectors.answered("terms")))
def test_a_term_is_about_the_namespaces_that_it_is_about_in_kubernetes(case: Any) -> None:
    term = msgspec.convert(case["term"], PodAffinityTerm)
    labels = case["namespaces"]
    found = [name for name in labels if is_about(term, case["own"], name, labels)]
    assert sorted(found) == case["selected"]


@every(numbered(vectors.answered("nodes")))
def test_a_pod_selects_and_prefers_the_nodes_that_it_does_in_kubernetes(case: Any) -> None:
    spec = msgspec.convert(case["spec"], PodSpec)
    nodes = [msgspec.convert(node, Node) for node in case["nodes"]]
    selection = NodeSelection(NodeLabels(nodes))
    required = selection.required_nodes(spec)
    chosen = np.ones(len(nodes), dtype=np.bool_) if required is None else required
    assert chosen.tolist() == case["required"]
    terms = node_affinity(spec).preferredDuringSchedulingIgnoredDuringExecution or []
    assert selection.preference_weights(terms).tolist() == case["score"]

"""Listed objects, as the cluster would have stored them."""

from typing import Any

import pytest

from rescheduler.kube.objects import PodAffinityTerm
from rescheduler.kube.pods.affinity_terms import every_term, merge_label_keys
from rescheduler.policytest.listing import cluster_of_objects
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every


def listed_pod(name: str, on: str, version: str, keys: str) -> dict[str, Any]:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        keys: ["version", "unset"],
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web", "version": version}},
        "spec": {"nodeName": on, "affinity": {"podAntiAffinity": required}},
    }


def nodes() -> list[dict[str, Any]]:
    return [{"kind": "Node", "metadata": {"name": name}} for name in "ab"]


def feasible(*pods: dict[str, Any]) -> list[bool]:
    answer: list[bool] = (
        SchedulerModel(cluster_of_objects([*nodes(), *pods], {})).feasible(0).tolist()
    )
    return answer


@every(
    [
        # It is kept from its own kind on its old node too, while the old pod is there.
        ("matchLabelKeys", "2", [False, True]),
        ("matchLabelKeys", "1", [True, False]),
        ("mismatchLabelKeys", "2", [True, False]),
        ("mismatchLabelKeys", "1", [True, True]),
    ]
)
def test_label_keys_of_a_listed_pod_are_merged_into_its_terms(
    keys: str, version: str, nodes_left: list[bool]
) -> None:
    other = listed_pod("q", "b", version, keys)
    assert feasible(listed_pod("p", "a", "1", keys), other) == nodes_left


@pytest.mark.parametrize("kind", ["CronJob", "JobSet", "LeaderWorkerSet"])
def test_what_is_above_a_controller_can_be_listed_too(kind: str) -> None:
    made = cluster_of_objects(
        [*nodes(), {"kind": kind, "metadata": {"name": "top"}, "spec": {"odd": 1}}], {}
    )
    (owner,) = made.owners
    assert (owner.kind, owner.metadata.uid) == (kind, f"{kind}-default-top")


def test_a_term_that_is_merged_already_stays_as_it_is() -> None:
    made = cluster_of_objects([*nodes(), listed_pod("p", "a", "1", "matchLabelKeys")], {}).pods[0]
    (term,) = every_term(made.spec.affinity)
    merge_label_keys(term, made.metadata.labels or {})
    assert term.labelSelector is not None
    found = [(e.key, e.operator, e.values) for e in term.labelSelector.matchExpressions or ()]
    assert found == [("version", "In", ["1"])]


def test_a_term_without_a_selector_is_about_nobody() -> None:
    term = PodAffinityTerm(topologyKey="zone", matchLabelKeys=["version"])
    merge_label_keys(term, {"version": "1"})
    assert term.labelSelector is None

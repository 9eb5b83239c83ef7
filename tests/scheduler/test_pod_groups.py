"""Pods of PodGroups of Kubernetes: where a new one is placed as any other pod, and where not."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Cluster
from rescheduler.scheduler.config.default_profile import default_profiles
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import controller, node, pod, snapshot

GROUP: dict[str, Any] = {"schedulingGroup": {"podGroupName": "g"}}
REFERENCE: dict[str, Any] = {"workloadRef": {"name": "train", "podGroup": "g"}}
NEWER = ("v1.37.2", "v1beta1")
OWNER = controller("ReplicaSet", "o")
NODES = [node("a"), node("b", allocatable={"cpu": "0"}), node("c")]


def member(name: str = "p", where: str = "a", **spec: Any) -> Pod:
    return pod(name, where, owner=OWNER, **(GROUP | spec))


def pod_group(served: str, **spec: Any) -> GangObject:
    policy = {"gang": {"minCount": 1}}
    written = {
        "apiVersion": f"scheduling.k8s.io/{served}",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }
    return msgspec.convert(written, GangObject)


def refusal(
    pods: list[Pod], version: str, group: GangObject | None = None, scheduler: str = ""
) -> tuple[str, str]:
    """Code and message for the first pod, or twice ""; scheduler: its version, if another."""
    made = snapshot(NODES, pods, gang_objects=[group] if group else [])
    made = replace(made, cluster=Cluster(uid="1", version=version))
    landing = SchedulerModel(made, default_profiles(scheduler or version)).landing(0)
    if landing.refusal is None:
        assert landing.nodes.tolist(), "it lands somewhere"
        return "", ""
    return landing.refusal.code, landing.refusal.message


@pytest.mark.parametrize(
    ("version", "served"), [("v1.36.3", "v1alpha2"), NEWER, ("v1.38.0", "v1beta1")]
)
def test_a_member_of_a_scheduling_group_lands_as_any_other_pod_does(
    version: str, served: str
) -> None:
    cluster = Cluster(uid="1", version=version)
    plain = replace(snapshot(NODES, [pod("p", "a", owner=OWNER)]), cluster=cluster)
    grouped = replace(
        snapshot(NODES, [member()], gang_objects=[pod_group(served)]),
        cluster=cluster,
    )
    expected, landing = (SchedulerModel(snapshot).landing(0) for snapshot in (plain, grouped))
    assert landing.refusal is None
    assert landing.nodes.tolist() == expected.nodes.tolist()
    assert landing.probabilities.tolist() == expected.probabilities.tolist()


@every(
    [
        ("", "v1.36.3", GROUP),
        ("", "v1.37.2", GROUP),
        ("a", "v1.35.0", GROUP),
        ("", "v1.35.0", REFERENCE),
        ("a", "v1.35.0", REFERENCE),
        ("a", "v1.37.2", REFERENCE),
    ]
)
def test_a_waiting_or_newer_scheduling_group_is_not_predicted(
    where: str, version: str, spec: dict[str, Any]
) -> None:
    code, message = refusal([pod("p", where, **spec)], version)
    assert code == "FEA005"
    assert "scheduling group" in message


@pytest.mark.parametrize(
    ("version", "served", "scheduler"),
    [
        ("v1.37.2", "v1beta1", "v1.36.3"),  # a supported skew, in which 1.36 sees no PodGroup
        ("v1.37.2", "v1alpha3", ""),
        ("v1.36.3", "v1alpha2", "v1.37.2"),
    ],
)
def test_a_scheduler_with_other_pod_groups_is_not_predicted(
    version: str, served: str, scheduler: str
) -> None:
    code, message = refusal([member()], version, pod_group(served), scheduler)
    assert code == "FEA005"
    assert served in message


HIGH: dict[str, Any] = {"priority": 1000}
NEVER: dict[str, Any] = {"preemptionPolicy": "Never"}
ELSE: dict[str, Any] = {"schedulerName": "mine"}


@every(
    [
        ({}, [member("q", "c", **HIGH)], "priority, 0 and 1000"),
        ({}, [member("q", "", **HIGH)], "priority, 0 and 1000"),
        (HIGH, [], "priority, 0 and 1000"),
        ({}, [member("q", "c", **NEVER)], "preemptionPolicy, Never and PreemptLowerPriority"),
        (NEVER, [], "preemptionPolicy, Never and PreemptLowerPriority"),
        ({}, [member("q", "c", **ELSE)], "schedulerName, default-scheduler and mine"),
    ]
)
def test_a_group_whose_pods_are_not_alike_gets_no_new_pod(
    group: dict[str, Any], others: list[Pod], differing: str
) -> None:
    code, message = refusal([member(), *others], NEWER[0], pod_group(NEWER[1], **group))
    assert code == "FEA018"
    assert differing in message


@pytest.mark.parametrize(
    ("group", "spec"),
    [
        (HIGH, HIGH),
        ({}, {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}),
        ({"preemptionPolicy": "Never"}, NEVER),
    ],
)
def test_pods_that_are_alike_are_predicted(group: dict[str, Any], spec: dict[str, Any]) -> None:
    pods = [member("p", **spec), member("q", "c", **spec), pod("else", "c", **NEVER)]
    assert refusal(pods, NEWER[0], pod_group(NEWER[1], **group)) == ("", "")


def test_the_scheduler_of_1_36_holds_priorities_against_nothing() -> None:
    pods = [member("p", **HIGH), member("q", "c", **NEVER)]
    assert refusal(pods, "v1.36.3", pod_group("v1alpha2")) == ("", "")
    code, _ = refusal([*pods, member("r", "c", **ELSE)], "v1.36.3", pod_group("v1alpha2"))
    assert code == "FEA018"


def test_claims_that_a_group_may_share_are_not_predicted() -> None:
    claim = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    code, message = refusal(
        [member(resourceClaims=claim)], NEWER[0], pod_group(NEWER[1], resourceClaims=claim)
    )
    assert code == "FEA005"
    assert "default/g" in message
    assert refusal([member()], NEWER[0], pod_group(NEWER[1], resourceClaims=claim)) == ("", "")

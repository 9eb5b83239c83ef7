"""What a cycle stands on stays where it is (ELG019): found by Services, not by names alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.kube.extensions import APIService
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.dependencies import Dependencies
from rescheduler.planning.eligibility.needed_pods import NeededPods
from tests.cases import every
from tests.cluster import pod
from tests.planning.eligibility.services import (
    METRICS,
    SPACES,
    asking,
    cluster,
    label,
    refused,
    service,
    webhooks,
)

Change = Callable[[Snapshot], Snapshot]


@every(
    [
        ("prom.monitoring", ""),
        ("prom.monitoring.svc", ""),
        ("prom.monitoring.svc.cluster.local", ""),
        ("PROM.monitoring.svc.cluster.local.", ""),
        ("metrics-0.prom.monitoring.svc.k8s.example.org", ""),
        ("prom", "monitoring"),
        ("10.96.0.7", ""),
        ("fd00::7", ""),
    ]
)
def test_the_pods_behind_the_metric_source_stay(host: str, namespace: str) -> None:
    before = cluster(METRICS, dependencies=asking(host, namespace))
    assert refused(before) == {"metrics": "it answers Prometheus at http://there"}


@every([("prom", "default"), ("prometheus.example.org", ""), ("10.96.0.8", ""), ("127.0.0.1", "")])
def test_an_address_that_is_not_in_the_cluster_protects_nothing(host: str, namespace: str) -> None:
    assert refused(cluster(METRICS, dependencies=asking(host, namespace))) == {}


def test_another_service_that_claims_the_address_takes_no_protection_away() -> None:
    claiming = service("mine", "default", "web", externalIPs=["10.96.0.7"])
    for services in ((METRICS, claiming), (claiming, METRICS)):
        assert set(refused(cluster(*services, dependencies=asking("10.96.0.7")))) == {
            "metrics",
            "web",
        }


def test_without_anything_that_needs_them_all_may_move() -> None:
    assert refused(cluster(METRICS)) == {}


def test_an_alias_is_followed_and_a_circle_of_them_ends() -> None:
    alias = {"type": "ExternalName", "externalName": "prom.monitoring.svc.cluster.local"}
    before = cluster(
        METRICS, service("prom", "default", **alias), dependencies=asking("prom.default")
    )
    assert list(refused(before)) == ["metrics"]
    circle = {"type": "ExternalName", "externalName": "prom.default.svc.cluster.local"}
    turning = cluster(service("prom", "default", **circle), dependencies=asking("prom.default"))
    assert refused(turning) == {}


def test_where_endpoints_were_written_by_hand_the_namespace_stays() -> None:
    before = cluster(service("prom", "monitoring"), dependencies=asking("prom.monitoring"))
    assert list(refused(before)) == ["metrics"]
    assert "Service prom has no selector" in refused(before)["metrics"]


@pytest.mark.parametrize("kind", ["validating_webhooks", "mutating_webhooks"])
@pytest.mark.parametrize(
    "config",
    [
        {"service": {"namespace": "policy", "name": "guard"}},
        {"url": "https://guard.policy.svc:8443/validate"},
    ],
)
def test_the_back_ends_of_webhooks_stay(kind: str, config: dict[str, Any]) -> None:
    before = cluster(service("guard", "policy", "hook"), **{kind: webhooks(**config)})
    ((app, why),) = refused(before).items()
    assert app == "hook"
    assert why.startswith("it answers webhook pods.guard.io of ")
    assert why.endswith("WebhookConfiguration guard")


def test_a_webhook_that_cannot_be_followed_protects_and_breaks_nothing() -> None:
    before = cluster(service("guard", "policy", "hook"))
    for config in ({}, {"url": "https://[oops"}, {"service": {"namespace": "x", "name": "y"}}):
        assert refused(replace(before, validating_webhooks=webhooks(**config))) == {}


def test_what_serves_a_part_of_the_api_stays() -> None:
    made = {
        "metadata": {"name": "v1beta1.custom.metrics.k8s.io"},
        "spec": {"service": {"namespace": "custom", "name": "adapter"}},
    }
    local = {"metadata": {"name": "v1.apps"}, "spec": {}}
    services = msgspec.convert([made, local], list[APIService])
    before = cluster(service("adapter", "custom", "api"), api_services=services)
    assert refused(before) == {"api": "it serves APIService v1beta1.custom.metrics.k8s.io"}


def test_dns_stays_whatever_its_pods_are_called() -> None:
    assert list(refused(cluster(service("kube-dns", "default", "web")))) == ["web"]
    labelled = service("rke2-dns", "default", "web")
    labelled.metadata.labels = {"k8s-app": "kube-dns"}
    assert refused(cluster(labelled)) == {"web": "it answers DNS for Service default/rke2-dns"}


def test_our_own_pod_stays_and_so_do_those_beside_it() -> None:
    own = Dependencies(namespace="default", pod="web-1")
    assert refused(cluster(dependencies=own)) == {"web": "it is the rescheduler itself"}
    for elsewhere in (("monitoring", "web-1"), ("default", "laptop"), ("default", "")):
        assert refused(cluster(dependencies=Dependencies((), *elsewhere))) == {}


@every(
    [
        ("volcano", {"k8s-app": "volcano-scheduler"}, True),
        ("default-scheduler", {"component": "kube-scheduler"}, True),
        ("bin-pack", {"component": "volcano-scheduler"}, False),
        ("my-scheduler", {"component": "my-scheduler"}, True),
    ]
)
def test_schedulers_that_pods_name_stay(named: str, labels: dict[str, str], needed: bool) -> None:
    before = label(cluster(), "hook", **labels)
    before.pods[-1].spec.schedulerName = named
    found = refused(label(before, "hook", **labels))
    assert list(found) == ["hook"] * needed
    assert all(f"scheduler {named}," in why for why in found.values())


def test_a_name_that_pods_of_one_namespace_give_keeps_no_app_of_another() -> None:
    """Anybody who may make a pod may name any scheduler, as an app of somebody else is called."""

    def needed(named_in: str, *schedulers: str) -> list[str]:
        made = pod("mine", namespace=named_in, schedulerName="web")
        before = cluster()
        asked = NeededPods(replace(before, pods=[*before.pods, made]), schedulers)
        return [pod.metadata.name for pod in before.pods if asked.refusal(pod)]

    assert needed("tenant") == []
    assert needed(SPACES["web"]) == ["web-0", "web-1"]
    assert needed("tenant", "web") == ["web-0", "web-1"], "pods are moved that it places"


def test_a_pod_read_afresh_is_told_from_the_same_snapshot() -> None:
    before = cluster(METRICS, dependencies=asking("prom.monitoring"))
    fresh = pod("metrics-9", "n0", labels={"app": "metrics"}, namespace="monitoring")
    found = NeededPods(before).refusal(fresh)
    assert found is not None
    assert found.code == "ELG019"

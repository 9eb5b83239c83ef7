"""The NetworkPolicy lets through what we ask, on every kind of cluster, and no more.

Evaluated as networking.k8s.io/v1 says: a rule holds where one of its peers and one of its ports do.
"""

from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml

from rescheduler.kube.objects import LabelSelector, LabelSelectorRequirement
from rescheduler.kube.selectors import matches
from rescheduler.runtime.settings import Settings
from tests.cases import every
from tests.deploy.manifests import overlay
from tests.deploy.policies_configmap import ROOT

KUSTOMIZE = ROOT / "deploy" / "kustomize"


def specs_of(folder: str) -> list[dict[str, Any]]:
    """What each NetworkPolicy of a folder says."""
    said = yaml.safe_load_all((KUSTOMIZE / folder / "networkpolicy.yaml").read_text())
    return [manifest["spec"] for manifest in said]


def spec_of(folder: str) -> dict[str, Any]:
    """What the first one says."""
    return specs_of(folder)[0]


SPEC = spec_of("base")
NAME = "kubernetes.io/metadata.name"


@dataclass
class Peer:
    """An address of a node or from outside, or, with a namespace, a pod."""

    address: str = ""
    namespace: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    of_namespace: dict[str, str] = field(default_factory=dict)


def selected(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    if selector is None:
        return True
    required = [
        LabelSelectorRequirement(
            key=requirement["key"], operator=requirement["operator"], values=requirement["values"]
        )
        for requirement in selector.get("matchExpressions", [])
    ]
    wanted = LabelSelector(matchLabels=selector.get("matchLabels"), matchExpressions=required)
    return matches(wanted, labels)


def holds(said: dict[str, Any], peer: Peer) -> bool:
    if "ipBlock" in said:
        if not peer.address:
            return False
        address, block = ip_address(peer.address), said["ipBlock"]
        within = address in ip_network(block["cidr"])
        return within and not any(address in ip_network(cidr) for cidr in block.get("except", []))
    return bool(peer.namespace) and (
        selected(said.get("namespaceSelector"), {NAME: peer.namespace, **peer.of_namespace})
        and selected(said.get("podSelector"), peer.labels)
    )


def passes(
    direction: str, peer: Peer, protocol: str, port: int, spec: dict[str, Any] = SPEC
) -> bool:
    side = {"egress": "to", "ingress": "from"}[direction]
    return any(
        any(holds(rule_peer, peer) for rule_peer in rule[side])
        and {"protocol": protocol, "port": port} in rule["ports"]
        for rule in spec[direction]
    )


CORE_DNS = Peer(namespace="kube-system", labels={"k8s-app": "kube-dns"})
OPENSHIFT_DNS = Peer(
    namespace="openshift-dns", labels={"dns.operator.openshift.io/daemonset-dns": "default"}
)


@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
@pytest.mark.parametrize(
    ("peer", "port"),
    [
        (CORE_DNS, 53),
        (Peer("169.254.20.10"), 53),
        (Peer("169.254.169.254"), 53),
        (Peer("fd00:90::10"), 53),
        (OPENSHIFT_DNS, 5353),
    ],
)
def test_names_are_resolved(peer: Peer, port: int, protocol: str) -> None:
    assert passes("egress", peer, protocol, port)


@pytest.mark.parametrize("port", [443, 6443, 10259])
@pytest.mark.parametrize("address", ["10.0.0.5", "203.0.113.9", "fd12:3456::5", "2001:db8::1"])
def test_the_control_plane_is_reached_in_both_families(address: str, port: int) -> None:
    assert passes("egress", Peer(address), "TCP", port)


@every(Settings().prometheus_namespaces.split(","))
def test_prometheus_is_asked_where_it_is_looked_for_and_scrapes(namespace: str) -> None:
    extender = KUSTOMIZE / "steering-extender" / "server.yaml"
    (reads_it_too,) = (
        manifest["spec"]
        for manifest in yaml.safe_load_all(extender.read_text())
        if manifest["kind"] == "NetworkPolicy"
    )
    for port in (9090, 9091):
        assert passes("egress", Peer(namespace=namespace), "TCP", port)
        assert passes("egress", Peer(namespace=namespace), "TCP", port, reads_it_too)
    assert passes("ingress", Peer(namespace=namespace), "TCP", 8080)
    page = (ROOT / "docs" / "install" / "kustomize.md").read_text(encoding="utf-8")
    assert f"`{namespace}`" in page


def test_monitoring_of_users_on_openshift_scrapes_and_is_not_asked() -> None:
    other = Peer(namespace="openshift-user-workload-monitoring")
    assert passes("ingress", other, "TCP", 8080)
    assert not passes("egress", other, "TCP", 9091)


@every(
    [
        (Peer("169.254.169.254"), "TCP", 80),
        (Peer("169.254.169.254"), "TCP", 443),
        (Peer("fd00:ec2::254"), "TCP", 443),
        (Peer("fd20:ce::254"), "TCP", 443),
        (Peer("fd00:ec2::254"), "TCP", 80),
        (Peer("8.8.8.8"), "UDP", 53),
        (Peer("2001:4860:4860::8888"), "UDP", 53),
        (Peer(namespace="shop", labels={"k8s-app": "kube-dns"}), "UDP", 53),
        (Peer(namespace="kube-system", labels={"app": "web"}), "UDP", 53),
        (Peer(namespace="shop"), "TCP", 9090),
    ]
)
def test_nothing_else_is_reached(peer: Peer, protocol: str, port: int) -> None:
    assert not passes("egress", peer, protocol, port)


def test_nobody_else_comes_in() -> None:
    assert not passes("ingress", Peer(namespace="shop"), "TCP", 8080)
    assert not passes("ingress", Peer("10.0.0.5"), "TCP", 8080)


@pytest.mark.parametrize("name", ["audit-deployment", "enforce-deployment"])
def test_the_policy_is_about_the_pods_that_listen_for_scrapers(name: str) -> None:
    """One that selects no pod lets everybody in."""
    path = KUSTOMIZE / "deployment" / "deployment.yaml"
    (deployment,) = yaml.safe_load_all(path.read_text())
    assert deployment in overlay(name)
    assert SPEC in [
        manifest["spec"] for manifest in overlay(name) if manifest["kind"] == "NetworkPolicy"
    ]
    assert selected(SPEC["podSelector"], deployment["spec"]["template"]["metadata"]["labels"])
    assert {"Ingress", "Egress"} == set(SPEC["policyTypes"])


ALLOWED = {"rescheduler.io/metrics": "allowed"}


@every([8080, 8427, 8428, 8481, 9090, 9091, 10902])
def test_a_source_elsewhere_is_asked_where_its_namespace_is_labelled(port: int) -> None:
    more = spec_of("metrics-elsewhere")
    assert passes("egress", Peer(namespace="mimir", of_namespace=ALLOWED), "TCP", port, more)
    assert not passes("egress", Peer(namespace="shop"), "TCP", port, more)
    assert not passes("egress", Peer("10.0.0.5"), "TCP", port, more)


def test_a_labelled_namespace_may_scrape_the_rescheduler_alone() -> None:
    _, scrapers = specs_of("metrics-elsewhere")
    assert passes("ingress", Peer(namespace="mimir", of_namespace=ALLOWED), "TCP", 8080, scrapers)
    assert not passes("ingress", Peer(namespace="shop"), "TCP", 8080, scrapers)
    assert scrapers["policyTypes"] == ["Ingress"]
    assert scrapers["podSelector"] == SPEC["podSelector"], "the extender's callers stay let in"


@every(
    [
        ("169.254.169.254", 80),
        ("169.254.169.252", 988),
        ("169.254.170.23", 80),
        ("fd00:ec2::23", 80),
    ]
)
def test_tokens_of_a_cloud_are_had_by_a_component_alone(address: str, port: int) -> None:
    more = spec_of("cloud-identity")
    assert passes("egress", Peer(address), "TCP", port, more)
    assert not passes("egress", Peer(address), "TCP", port)
    assert not passes("egress", Peer("169.254.169.250"), "TCP", port, more)


@pytest.mark.parametrize("folder", ["metrics-elsewhere", "cloud-identity"])
def test_components_let_out_the_pods_that_ask_prometheus(folder: str) -> None:
    more = spec_of(folder)
    assert more["policyTypes"] == ["Egress"]
    for app in ("rescheduler", "rescheduler-extender"):
        assert selected(more["podSelector"], {"app.kubernetes.io/name": app})
    assert not selected(more["podSelector"], {"app.kubernetes.io/name": "rescheduler-webhook"})
    kustomization = yaml.safe_load((KUSTOMIZE / folder / "kustomization.yaml").read_text())
    assert (kustomization["kind"], kustomization["resources"]) == (
        "Component",
        ["networkpolicy.yaml"],
    )

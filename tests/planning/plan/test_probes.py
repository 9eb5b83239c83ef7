"""DAT003: pods that get requests and do not tell when they serve."""

from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import Controller, Service
from rescheduler.kube.objects import Container
from rescheduler.planning.plan.probes import missing_probes
from tests.cases import every
from tests.cluster import controller, node, pod, snapshot

PROBED = {"readinessProbe": {"httpGet": {"path": "/"}}}
APP = {"name": "app", "ports": [{"containerPort": 8080, "name": "http"}]}
PROXY = {"name": "istio-proxy", "ports": [{"containerPort": 15021}], **PROBED}


def service(target: int | str | None = None, **spec: Any) -> Service:
    """A Service of the pods of app web, on port 80."""
    port = {"port": 80, **({} if target is None else {"targetPort": target})}
    made = {"selector": {"app": "web"}, "ports": [port], **spec}
    metadata = {"name": "web", "namespace": "default"}
    return msgspec.convert({"metadata": metadata, "spec": made}, Service)


def told(services: list[Service], *containers: dict[str, Any], kind: str = "", **spec: Any) -> bool:
    """Whether the pod of app web with these containers is named, beside a pod that has a probe."""
    owner: Controller = controller(kind or "StatefulSet", "web")
    web = pod("web-0", "n1", owner=owner, labels={"app": "web", "tier": "x"}, **spec)
    other = pod("other", "n1", labels={"app": "other"})
    web.spec.containers = msgspec.convert(list(containers), list[Container])
    other.spec.containers = msgspec.convert([PROXY], list[Container])
    before = snapshot([node("n1")], [web, other], controllers=[owner], services=services)
    found = missing_probes(before, [0])
    assert [problem.message for problem in found] == [
        "without a readiness probe: StatefulSet default/web"
    ] * bool(found)
    return bool(found)


def test_who_gets_requests_and_does_not_tell_when_it_serves_is_named() -> None:
    assert told([service()], APP)
    assert not told([service()], {**APP, **PROBED})


@every(
    [
        [],
        [service(selector={"app": "web", "tier": "y"})],
        [service(selector=None)],
        [service(selector={})],
        [service(type="ExternalName")],
    ]
)
def test_who_gets_no_requests_has_nothing_to_tell(services: list[Service]) -> None:
    """Workers of a queue, training, notebooks."""
    assert not told(services, APP)


def test_a_service_of_another_namespace_sends_it_nothing() -> None:
    elsewhere = service()
    elsewhere.metadata.namespace = "other"
    assert not told([elsewhere], APP)


def test_a_job_is_no_server() -> None:
    assert not told([service()], APP, kind="Job")


def test_a_readiness_gate_tells_as_well() -> None:
    """A load balancer's controller says when it sends requests."""
    gate = {"conditionType": "target-health.elbv2.k8s.aws/web"}
    assert not told([service()], APP, readinessGates=[gate])


@pytest.mark.parametrize("target", [8080, "http"])
def test_a_sidecar_does_not_speak_for_the_container_that_serves(target: int | str) -> None:
    assert told([service(target)], APP, PROXY)
    assert not told([service(target)], {**APP, **PROBED}, PROXY)
    assert not told([service(15021)], APP, PROXY), "requests go to the proxy"
    assert not told([service(9999)], APP, PROXY), "ports need not be named"
    assert not told([service(), service(target)], {**APP, **PROBED}, {"name": "log"})


def test_a_port_that_is_its_own_target() -> None:
    assert told([service(ports=[{"port": 8080}])], APP, PROXY)
    assert not told([service(ports=None)], APP, PROXY)


def test_a_sidecar_among_the_init_containers_may_serve() -> None:
    native = [{**PROXY, "restartPolicy": "Always"}]
    assert not told([service(15021)], APP, initContainers=native)
    assert told([service(8080)], APP, initContainers=native)

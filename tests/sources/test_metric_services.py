"""The Services that answer PromQL are known by what their makers call them; one must be it."""

import pytest

from rescheduler.kube.controllers import Service, ServicePort, ServiceSpec
from rescheduler.kube.objects import ObjectMeta
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.errors import SettingsError
from rescheduler.runtime.process_dependencies import dependencies_of
from rescheduler.runtime.reading_sources import locate_source, reading_sources
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.metric_services import metric_service
from tests import cluster
from tests.cases import every


def service(where: str, *ports: tuple[str, int], kind: str = "ClusterIP", **labels: str) -> Service:
    namespace, name = where.split("/")
    return Service(
        metadata=ObjectMeta(
            namespace=namespace,
            name=name,
            labels={f"app.kubernetes.io/{key}": value for key, value in labels.items()},
        ),
        spec=ServiceSpec(type=kind, ports=[ServicePort(name=n, port=port) for n, port in ports]),
    )


STACK = service("monitoring/kps-kube-prometheus-stack-prometheus", ("http-web", 9090))
STACK.metadata.labels = {"app": "kube-prometheus-stack-prometheus"}
OPERATED = service("monitoring/prometheus-operated", ("http-web", 9090))
KUBE = service("default/kubernetes", ("https", 443))
GRAFANA = service("monitoring/kps-grafana", ("http-web", 80), name="grafana")
ALERTS = service("monitoring/alertmanager-operated", ("http-web", 9093))
OTHERS = (KUBE, GRAFANA, ALERTS, service("monitoring/kps-prometheus-node-exporter", ("http", 9100)))
OPENSHIFT = service("openshift-monitoring/thanos-querier", ("web", 9091), ("tenancy", 9092))


@every([
        ([STACK, OPERATED], "http://kps-kube-prometheus-stack-prometheus.monitoring.svc:9090"),
        ([OPERATED], "http://prometheus-operated.monitoring.svc:9090"),
        (
            [service("monitoring/prometheus-k8s", ("web", 9090), ("reloader-web", 8080)), OPERATED],
            "http://prometheus-k8s.monitoring.svc:9090",
        ),
        (
            [service("m/prometheus-server", ("http", 80), name="prometheus", component="server")],
            "http://prometheus-server.m.svc:80",
        ),
        (
            [
                OPENSHIFT,
                service("openshift-monitoring/prometheus-k8s", ("web", 9091)),
                service("openshift-user-workload-monitoring/prometheus-operated", ("web", 9090)),
            ],
            "https://thanos-querier.openshift-monitoring.svc:9091",
        ),
        (
            [
                service("m/x-query", ("grpc", 10901), ("http", 9090), name="thanos",
                        component="query"),
                service("m/x-front", ("http", 9090), name="thanos", component="query-frontend"),
            ],
            "http://x-front.m.svc:9090",
        ),
        (
            [
                service("mimir/mimir-gateway", ("http-metrics", 80)),
                service("mimir/mimir-query-frontend", ("http-metrics", 8080), ("grpc", 9095)),
                service("mimir/mimir-query-frontend-headless", ("http-metrics", 8080)),
            ],
            "http://mimir-gateway.mimir.svc:80/prometheus",
        ),
        (
            [service("vm/vmselect-fleet", ("http", 8481), name="vmselect")],
            "http://vmselect-fleet.vm.svc:8481/select/0/prometheus",
        ),
        (
            [service("vm/vmsingle-main", ("http", 8429), name="vmsingle")],
            "http://vmsingle-main.vm.svc:8429",
        ),
    ])  # fmt: skip
def test_the_one_that_there_is_is_found(found: list[Service], url: str) -> None:
    assert metric_service([*OTHERS, *found]) == url
    assert metric_service([*found[::-1], *OTHERS]) == url


@every(
    [
        [],
        [service("m/prometheus-operated", ("http-web", 9090), kind="ExternalName")],
        [service("m/prometheus-operated", ("grpc", 10901))],
        # Only in the namespace of the platform itself is it OpenShift's.
        [service("tenant/thanos-quer", ("web", 9091))],
    ]
)
def test_none_is_an_error(found: list[Service]) -> None:
    with pytest.raises(SettingsError, match="finds no Service"):
        metric_service([*OTHERS, *found])


def test_several_are_an_error_that_lists_them() -> None:
    vm = service("vm/vmsingle-main", ("http", 8429))
    other = service("team-a/prometheus-operated", ("web", 9090))
    with pytest.raises(SettingsError) as caught:
        metric_service([STACK, OPERATED, vm, other])
    text = str(caught.value)
    for part in ("kps-kube-prometheus-stack-prometheus.monitoring", "vmsingle-main.vm", "team-a"):
        assert part in text
    assert "prometheus-operated.monitoring" not in text, "it is the same one"


def test_what_is_found_is_read_and_its_pods_are_protected() -> None:
    settings = Settings(prometheus_url="auto")
    found = cluster.snapshot([cluster.node("n1")], [], services=[OPERATED])
    there = locate_source(settings, found)
    assert there.prometheus_url == "http://prometheus-operated.monitoring.svc:9090"
    (address,) = dependencies_of(there, {}, "laptop").addresses
    assert address.host == "prometheus-operated.monitoring.svc"
    _, source = reading_sources(settings)
    (reading,) = source.read([ReadingRequest("node.memory")], found)
    assert reading.problem is not None
    assert there.prometheus_url in reading.problem.message
    with pytest.raises(SettingsError, match="finds no Service"):
        list(source.read([], cluster.snapshot([], [])))

"""The Services that answer PromQL are known by what their makers call them, and then asked."""

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rescheduler.kube.controllers import Service, ServicePort, ServiceSpec
from rescheduler.kube.objects import ObjectMeta
from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import MetricsUnavailable, SettingsError
from rescheduler.model.problem import Problem
from rescheduler.runtime import reading_sources as sources_module
from rescheduler.runtime.metric_discovery import DiscoveredSource, FoundSource
from rescheduler.runtime.parts import parts_of
from rescheduler.runtime.process_dependencies import dependencies_of
from rescheduler.runtime.reading_sources import (
    locate_source,
    look_by_default,
    read_all,
    reading_sources,
    with_address,
)
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.metric_services import MetricService, metric_services
from rescheduler.sources.prometheus.http.http_api import Sample, Vector
from rescheduler.sources.prometheus.prometheus import PrometheusReadings
from tests import cluster
from tests.cases import every
from tests.sources.connected import kubeconfig
from tests.sources.server import Reply, Request, serving


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
    namespaces = {service.metadata.namespace for service in found}
    for services in ([*OTHERS, *found], [*found[::-1], *OTHERS]):
        assert metric_services(services, namespaces)[0].url == url


@every(
    [
        [],
        [service("m/prometheus-operated", ("http-web", 9090), kind="ExternalName")],
        [service("m/prometheus-operated", ("grpc", 10901))],
        # Only in the namespace of the platform itself is it OpenShift's.
        [service("tenant/thanos-quer", ("web", 9091))],
    ]
)
def test_what_only_looks_like_one_is_none(found: list[Service]) -> None:
    assert metric_services([*OTHERS, *found], {"m", "monitoring", "tenant"}) == []


VM = service("vm/vmsingle-main", ("http", 8429))
TENANT = service("team-a/prometheus-operated", ("web", 9090))


def test_a_service_of_another_namespace_is_not_looked_at() -> None:
    services = [TENANT, STACK, OPERATED, VM]
    [only] = metric_services(services, Settings().metric_namespaces)
    assert only.name == "kps-kube-prometheus-stack-prometheus", "operated is the same one"
    assert metric_services([TENANT], Settings().metric_namespaces) == []
    named = Settings(prometheus_namespaces="vm, team-a").metric_namespaces
    assert {candidate.namespace for candidate in metric_services(services, named)} == {
        "vm",
        "team-a",
    }


class Candidates:
    """Sources by the name of their Service, each of which knows some nodes."""

    def __init__(self, **nodes: list[str] | None) -> None:
        self.nodes = nodes
        self.asked: list[str] = []

    def __call__(self, service: MetricService) -> PrometheusReadings:
        return PrometheusReadings(_Source(self, service))  # type: ignore[arg-type]


class _Source:
    match = 'cluster="eu-1",'

    def __init__(self, candidates: Candidates, service: MetricService) -> None:
        self._candidates, self._service = candidates, service

    def query(self, promql: str, _at: float | None, _until: float) -> Vector:
        assert '{__name__=~"kube_node_info|node_uname_info|up",cluster="eu-1"}' in promql
        self._candidates.asked.append(self._service.namespace)
        names = self._candidates.nodes[self._service.namespace]
        if names is None:
            raise MetricsUnavailable(f"{self._service.url}: no answer", "")
        return Vector([Sample({"node": name}, (0.0, "1")) for name in names])

    def close(self) -> None:
        """It has nothing open."""


def discover(candidates: Candidates, *services: Service) -> FoundSource:
    nodes = [cluster.node("n1"), cluster.node("n2"), cluster.node("n3")]
    snapshot = cluster.snapshot(nodes, [], services=services)
    where = frozenset({"monitoring", "vm"})
    source = DiscoveredSource(candidates, where, lambda *_: pytest.fail("not read"))
    first = source.discover(snapshot)
    assert source.discover(snapshot) is first, "asked once for each snapshot"
    return first


def test_the_source_that_knows_most_nodes_is_chosen() -> None:
    candidates = Candidates(monitoring=["n1", "other"], vm=["n1", "n2", "n2"])
    chosen = discover(candidates, STACK, VM, TENANT)
    assert chosen.service is not None
    assert chosen.service.namespace == "vm"
    assert candidates.asked == ["vm", "monitoring"], "never that of a tenant"


def test_of_equal_sources_the_likeliest_is_chosen() -> None:
    both = Candidates(monitoring=["n1"], vm=["n2"])
    for services in ((STACK, VM), (VM, STACK)):
        chosen = discover(both, *services)
        assert chosen.service is not None
        assert chosen.service.namespace == "vm"


def test_one_that_is_silent_or_of_another_cluster_is_not_chosen() -> None:
    chosen = discover(Candidates(monitoring=None, vm=["elsewhere"]), STACK, VM)
    assert chosen.source is None
    assert "vmsingle-main.vm.svc:8429 knows 0 of 3 nodes" in chosen.problem
    assert "no answer" in chosen.problem
    assert "was found in the namespaces monitoring, vm" in discover(Candidates(), TENANT).problem


def serve_cluster(request: Request) -> Reply:
    """A metric source behind the API server's proxy, that knows the node n1."""
    if "/proxy/api/v1/query" not in request.path:
        return Reply(status=404)
    rows = [{"metric": {"node": "n1"}, "value": [0, "1"]}]
    data = {"resultType": "vector", "result": rows}
    return Reply(json.dumps({"status": "success", "data": data}).encode())


def test_a_laptop_asks_by_the_proxy_with_its_own_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    snapshot = cluster.snapshot([cluster.node("n1")], [], services=[OPERATED])
    with serving(serve_cluster) as served:
        connection = connect(kubeconfig(tmp_path, served.url), None)
        with closing(connection.api):
            settings = locate_source(Settings(prometheus_url="auto"), snapshot, connection)
    assert settings.prometheus_url == "http://prometheus-operated.monitoring.svc:9090"
    [request] = served.requests
    place = "/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy/api/v1/query"
    assert (request.method, request.path) == ("GET", place)
    assert request.headers["authorization"] == "Bearer t0ken"


def test_without_a_source_readings_say_so_and_the_plan_goes_on() -> None:
    _, source = reading_sources(Settings(prometheus_url="auto"))
    empty = cluster.snapshot([cluster.node("n1")], [], services=[TENANT])
    [reading] = source.read([ReadingRequest("node.memory")], empty)
    assert reading.problem is not None
    assert reading.problem.code == "RDG017", "there is none, which is no fault"
    assert "No Service of Prometheus" in reading.problem.message
    with pytest.raises(SettingsError, match="No Service of Prometheus"):
        locate_source(Settings(prometheus_url="auto"), empty)
    assert with_address(Settings(prometheus_url="auto"), [source], empty).prometheus_url is None


def unread(request: ReadingRequest, snapshot: Snapshot, problem: Problem) -> Reading:
    return Reading.without_values(request, np.ones(len(snapshot.nodes), np.bool_), problem)


def test_a_source_that_is_silent_is_a_fault() -> None:
    snapshot = cluster.snapshot([cluster.node("n1")], [], services=[STACK])
    where = frozenset({"monitoring"})
    source = DiscoveredSource(Candidates(monitoring=None), where, unread)
    [reading] = source.read([ReadingRequest("node.memory")], snapshot)
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"


def test_pods_of_the_chosen_source_are_protected() -> None:
    chosen = DiscoveredSource(
        Candidates(monitoring=["n1"]), frozenset({"monitoring"}), lambda *_: pytest.fail("not read")
    )
    snapshot = cluster.snapshot([cluster.node("n1")], [], services=[OPERATED])
    settings = with_address(Settings(prometheus_url="auto"), [chosen], snapshot)
    [address] = dependencies_of(settings, {}, "laptop").addresses
    assert address.host == "prometheus-operated.monitoring.svc"


def test_only_plans_look_for_a_source_where_none_is_named() -> None:
    assert look_by_default(Settings()).prometheus_url == "auto"
    named = Settings(prometheus_url="http://x:9090")
    for settings in (named, Settings(mode="Enforce"), Settings(snapshot=Path("x"))):
        assert look_by_default(settings) == settings


def test_who_acts_needs_a_written_address(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = cluster.snapshot([cluster.node("n1")], [], services=[OPERATED])
    monkeypatch.setattr(sources_module, "read_cluster", lambda *_, **__: snapshot)
    connection = SimpleNamespace(api=None, server="https://x")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(
        sources_module,
        "_prometheus",
        lambda _settings, url, **_: Candidates(monitoring=["n1"])(
            metric_services([OPERATED], {"monitoring"})[0]
        ),
    )
    settings = Settings(prometheus_url="auto", mode="Enforce")
    with pytest.raises(SettingsError) as caught:
        parts_of(settings, connection, state=object())  # type: ignore[arg-type]
    line = "--prometheus-url http://prometheus-operated.monitoring.svc:9090"
    assert line in caught.value.hint
    written = Settings(prometheus_url="http://x:9090", mode="Enforce")
    sources_module.check_written_address(written, connection)  # type: ignore[arg-type]


def test_who_acts_without_an_address_reads_which_line_to_write() -> None:
    snapshot = cluster.snapshot([cluster.node("n1")], [], services=[OPERATED, TENANT])
    readings = read_all(
        reading_sources(Settings(mode="Enforce")), [ReadingRequest("node.memory")], snapshot
    )
    [reading] = readings.entries
    assert reading.problem is not None
    line = "--prometheus-url http://prometheus-operated.monitoring.svc:9090"
    assert line in reading.problem.message

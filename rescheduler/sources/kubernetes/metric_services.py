"""Which Service of the cluster answers PromQL, by the names and labels that its makers give it."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from rescheduler.kube.controllers import Service


class _Sort(NamedTuple):
    """Services of one program.

    family: of those in one namespace the first listed stands for the others. name: what all of the
    Service's name matches. labels: or labels that it has. ports: names of the port, or its number.
    """

    family: str
    name: str
    labels: tuple[tuple[str, str], ...]
    ports: tuple[str | int, ...]
    path: str = ""
    scheme: str = "http"


_NAME, _COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/component"
_HTTP = ("http-web", "web", "http", "http-metrics")
_SORTS = (
    _Sort("OpenShift", "openshift-monitoring/thanos-querier", (), ("web",), scheme="https"),
    _Sort("Thanos", r"[^/]+/(.*-)?thanos-query-frontend",
          ((_NAME, "thanos"), (_COMPONENT, "query-frontend")), ("http", 10902, 9090)),
    _Sort("Thanos", r"[^/]+/(.*-)?thanos-(query|querier)",
          ((_NAME, "thanos"), (_COMPONENT, "query")), ("http", 10902, 9090)),
    _Sort("Mimir", r"[^/]+/(.*-)?mimir-gateway",
          ((_NAME, "mimir"), (_COMPONENT, "gateway")), ("http-metrics", "http", 80, 8080),
          "/prometheus"),
    _Sort("Mimir", r"[^/]+/(.*-)?mimir-nginx",
          ((_NAME, "mimir"), (_COMPONENT, "nginx")), ("http-metric", "http", 80), "/prometheus"),
    _Sort("Mimir", r"[^/]+/(.*-)?mimir-query-frontend",
          ((_NAME, "mimir"), (_COMPONENT, "query-frontend")), ("http-metrics", 8080),
          "/prometheus"),
    _Sort("VictoriaMetrics", r"[^/]+/(vmselect-.*|.*-vmselect)", ((_NAME, "vmselect"),),
          ("http", 8481), "/select/0/prometheus"),
    _Sort("VictoriaMetrics", r"[^/]+/(vmsingle-.*|.*-victoria-metrics-single-server)",
          ((_NAME, "vmsingle"),), ("http", 8428, 8429)),
    _Sort("Prometheus", r"[^/]+/.*-kube-prometheus-prometheus|[^/]+/.*-kube-promethe-prometheus",
          (("app", "kube-prometheus-stack-prometheus"),), (*_HTTP, 9090)),
    _Sort("Prometheus", r"[^/]+/prometheus-k8s", (), ("web", 9090)),
    _Sort("Prometheus", r"[^/]+/(.*-)?prometheus-server",
          ((_NAME, "prometheus"), (_COMPONENT, "server")), (*_HTTP, 9090, 80)),
    _Sort("Prometheus", r"[^/]+/prometheus-operated", (), (*_HTTP, 9090)),
)  # fmt: skip
"""kube-prometheus-stack cuts its names at 26 characters, which is the shorter one of its two."""


class MetricService(NamedTuple):
    """A Service that answers PromQL, by its name or labels."""

    scheme: str
    namespace: str
    name: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """Its address inside of the cluster."""
        return f"{self.scheme}://{self.name}.{self.namespace}.svc:{self.port}{self.path}"

    def proxied_url(self, server: str) -> str:
        """Its address by the API server's proxy, for one outside of the cluster."""
        name = f"https:{self.name}" if self.scheme == "https" else self.name
        place = f"/api/v1/namespaces/{self.namespace}/services/{name}:{self.port}/proxy"
        return f"{server.rstrip('/')}{place}{self.path}"


def metric_services(
    services: Iterable[Service], namespaces: Collection[str]
) -> list[MetricService]:
    """The Services of these namespaces that may be the metric source, the likeliest first.

    A Service of another namespace is not looked at: anybody who may create one could name it so.
    Of several Services of one program in one namespace only the best is listed.
    """
    best: dict[tuple[str, str], tuple[int, MetricService]] = {}
    for service in services:
        if service.metadata.namespace not in namespaces:
            continue
        for rank, sort in enumerate(_SORTS):
            candidate = _metric_service(service, sort)
            if candidate is not None:
                key = (sort.family, service.metadata.namespace)
                best[key] = min(best.get(key, (rank, candidate)), (rank, candidate))
                break
    return [candidate for _, candidate in sorted(best.values())]


def _metric_service(service: Service, sort: _Sort) -> MetricService | None:
    """The Service as a metric source, if it is of that sort."""
    meta, spec = service.metadata, service.spec
    labels = meta.labels or {}
    named = re.fullmatch(sort.name, f"{meta.namespace}/{meta.name}")
    labeled = bool(sort.labels) and all(labels.get(key) == value for key, value in sort.labels)
    # The headless twin of a Service is for its replicas; Prometheus' operator has no other.
    twin = meta.name.endswith("-headless")
    if not (named or labeled) or spec.type == "ExternalName" or twin:
        return None
    for wanted in sort.ports:
        for port in spec.ports or ():
            if wanted in (port.name, port.port):
                where = (meta.namespace, meta.name, port.port)
                return MetricService(sort.scheme, *where, sort.path)
    return None

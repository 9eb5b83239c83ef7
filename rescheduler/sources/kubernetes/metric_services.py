"""Which Service of the cluster answers PromQL, by the names and labels that its makers give it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from rescheduler.kube.controllers import Service
from rescheduler.model.errors import SettingsError


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


def metric_service(services: Iterable[Service]) -> str:
    """The address of the one that there is.

    Raises:
        SettingsError: there is none, or there are several that are not the same one.
    """
    urls_by_source: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for service in services:
        for rank, sort in enumerate(_SORTS):
            url = _url(service, sort)
            if url:
                key = (sort.family, service.metadata.namespace)
                urls_by_source.setdefault(key, []).append((rank, url))
                break
    if ("OpenShift", "openshift-monitoring") in urls_by_source:  # it stands for all others there
        urls_by_source = {
            key: urls for key, urls in urls_by_source.items() if key[0] == "OpenShift"
        }
    best = sorted(
        url
        for urls in urls_by_source.values()
        for rank, url in urls
        if rank == min(other_rank for other_rank, _ in urls)
    )
    if not best:
        raise SettingsError(
            "--prometheus-url auto finds no Service of Prometheus, Thanos, Mimir or "
            "VictoriaMetrics in this cluster",
            "give its address.",
        )
    if len(best) > 1:
        raise SettingsError(
            f"--prometheus-url auto finds several metric sources: {', '.join(best)}",
            "give the one that has the series of this cluster's nodes.",
        )
    return best[0]


def _url(service: Service, sort: _Sort) -> str:
    """Where it is reached, if it is of that sort; "" if not."""
    meta, spec = service.metadata, service.spec
    labels = meta.labels or {}
    named = re.fullmatch(sort.name, f"{meta.namespace}/{meta.name}")
    labeled = bool(sort.labels) and all(labels.get(key) == value for key, value in sort.labels)
    # The headless twin of a Service is for its replicas; Prometheus' operator has no other.
    twin = meta.name.endswith("-headless")
    if not (named or labeled) or spec.type == "ExternalName" or twin:
        return ""
    for wanted in sort.ports:
        for port in spec.ports or ():
            if wanted in (port.name, port.port):
                return f"{sort.scheme}://{meta.name}.{meta.namespace}.svc:{port.port}{sort.path}"
    return ""

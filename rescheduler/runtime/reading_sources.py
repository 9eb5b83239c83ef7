"""Where readings come from: what a cycle asks of a metric source, and which ones there are.

Another metric source is a module in `sources` with these three methods, its settings, and an entry
in `reading_sources`.
"""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import SettingsError
from rescheduler.model.problem import Problem
from rescheduler.runtime.metric_discovery import DiscoveredSource
from rescheduler.runtime.settings import AUTO, Settings, catalogs_in
from rescheduler.sources.datasets import Catalogs
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.metric_services import MetricService, metric_services
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.prometheus.http.access import Access, header_files
from rescheduler.sources.prometheus.http.proxy_access import proxy_access
from rescheduler.sources.prometheus.prometheus import Prometheus, PrometheusReadings
from rescheduler.sources.prometheus.series_values import number

OPTIONS = "--prometheus-url"
"""What gives a metric source."""

BUILT_IN = tuple(CATALOG)
"""The names of all readings that nobody needs to define."""


MetricSource = PrometheusReadings
"""A Prometheus, or what serves its API, once it is found."""


class ReadingSource(Protocol):
    """A source of readings, such as a Prometheus."""

    def answers(self, request: ReadingRequest) -> bool:
        """Whether this source is the one to ask for the reading, if no other was before it."""
        ...

    def catalog(self) -> Iterable[ReadingRequest]:
        """The readings that a recording is to have where no policy names any."""
        ...

    def read(self, requests: Sequence[ReadingRequest], snapshot: Snapshot) -> Iterable[Reading]:
        """The reading of each request, of the nodes, pods or workloads of the snapshot.

        Never raises for what the source answers, or does not: a reading that is not fit to act on
        carries its problem, and nobody evicts on it.
        """
        ...


def reading_sources(
    settings: Settings, *, stats: bool = False, connection: Connection | None = None
) -> tuple[ReadingSource, ...]:
    """The sources that the settings give; if two have a reading, the first is queried.

    stats: whether to ask what each query cost. connection: of one outside of the cluster, by which
    a Service that is found can be asked.

    Raises:
        SettingsError: the settings of one of them cannot be used.
    """
    catalogs = Catalogs(catalogs_in(settings.dataset_catalogs))
    if settings.prometheus_url is None:
        return (catalogs,)
    if settings.prometheus_url == AUTO:
        return (catalogs, _discovered_source(settings, connection, stats=stats))
    return (catalogs, _prometheus(settings, settings.prometheus_url, stats=stats))


def _discovered_source(
    settings: Settings, connection: Connection | None, *, stats: bool
) -> DiscoveredSource:
    inside = connection is None or bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    access = None if connection is None or inside else proxy_access(connection.api.configuration)

    def make(service: MetricService) -> PrometheusReadings:
        if connection is None or access is None:
            return _prometheus(settings, service.url, stats=stats)
        url = service.proxied_url(connection.server)
        selector = settings.prometheus_selector
        prometheus = Prometheus(url, access=access, selector=selector, method="GET")
        prometheus.stats = stats
        return PrometheusReadings(prometheus)

    return DiscoveredSource(make, settings.metric_namespaces, _reading_without_source)


def _prometheus(settings: Settings, url: str, *, stats: bool) -> PrometheusReadings:
    prometheus = Prometheus(
        url,
        access=Access(
            ca_file=settings.prometheus_ca_file,
            token_file=settings.prometheus_token_file,
            basic_auth_file=settings.prometheus_basic_auth_file,
            client_cert_file=settings.prometheus_client_cert_file,
            client_key_file=settings.prometheus_client_key_file,
            cloud=settings.prometheus_auth,
            header_files=header_files(settings.prometheus_header),
        ),
        selector=settings.prometheus_selector,
    )
    prometheus.stats = stats
    return PrometheusReadings(prometheus)


def series_counts(settings: Settings, names: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many series of each name the metric source has, by job.

    Raises:
        SettingsError: no address is given.
        MetricsUnavailable: it does not answer.
    """
    if settings.prometheus_url in (None, AUTO):
        raise SettingsError(f"{OPTIONS} has no address", "give that of your Prometheus.")
    prometheus = _prometheus(settings, settings.prometheus_url or "", stats=False).prometheus
    try:
        return _series_by_job(prometheus, names)
    finally:
        prometheus.close()


def count_series(source: MetricSource, names: Iterable[str]) -> dict[str, dict[str, int]]:
    """As `series_counts`, of a source that is open. Raises: MetricsUnavailable."""
    return _series_by_job(source.prometheus, names)


def _series_by_job(prometheus: Prometheus, names: Iterable[str]) -> dict[str, dict[str, int]]:
    until = time.monotonic() + prometheus.deadline
    return {
        name: {
            sample.metric.get("job", ""): round(number(sample.value[1]))
            for sample in prometheus.query(
                f"count by (job) ({name}{{{prometheus.match}}})", None, until
            ).samples
        }
        for name in names
    }


def find_source(
    settings: Settings, snapshot: Snapshot, connection: Connection | None = None
) -> tuple[str, MetricSource]:
    """The metric source of the settings, or that of the cluster; and its address in the cluster.

    Raises:
        SettingsError: there is none, or its settings cannot be used.
    """
    if settings.prometheus_url not in (None, AUTO):
        url = settings.prometheus_url or ""
        return url, _prometheus(settings, url, stats=False)
    discovery = _discovered_source(settings, connection, stats=False).discover(snapshot)
    if discovery.service is None or discovery.source is None:
        raise SettingsError(discovery.problem, f"give its address with {OPTIONS}.")
    return discovery.service.url, discovery.source


def locate_source(
    settings: Settings, snapshot: Snapshot, connection: Connection | None = None
) -> Settings:
    """The settings with the address of the metric source that the cluster has.

    The address is that inside of the cluster, also where the source is asked by a proxy.

    Raises:
        SettingsError: it was to be found, and there is none.
    """
    if settings.prometheus_url != AUTO:
        return settings
    url, source = find_source(settings, snapshot, connection)
    source.prometheus.close()
    return replace(settings, prometheus_url=url)


def with_address(
    settings: Settings, sources: Iterable[ReadingSource], snapshot: Snapshot
) -> Settings:
    """The settings with the address of the source that was found; without one if none was."""
    for source in sources:
        if isinstance(source, DiscoveredSource):
            service = source.discover(snapshot).service
            return replace(settings, prometheus_url=None if service is None else service.url)
    return settings


def look_by_default(settings: Settings) -> Settings:
    """The settings with which a metric source is looked for, where none is named and none acts."""
    recorded, acts = settings.snapshot is not None, settings.mode == "Enforce"
    if settings.prometheus_url is not None or recorded or acts:
        return settings
    return replace(settings, prometheus_url=AUTO)


def check_written_address(settings: Settings, connection: Connection) -> None:
    """Refuse to act on a metric source that was only found.

    Raises:
        SettingsError: the address is to be found; the error has the line to write instead.
        ClusterUnavailable: the cluster cannot be read.
    """
    if settings.prometheus_url != AUTO:
        return
    snapshot = read_cluster(connection, frozenset(), now=lambda: datetime.now(UTC))
    url = locate_source(settings, snapshot, connection).prometheus_url
    raise SettingsError(
        f"{OPTIONS} auto is for plans: evictions need an address that is written down",
        f"write {OPTIONS} {url} (or RESCHEDULER_PROMETHEUS_URL={url}) if that is yours.",
    )


def unanswered_requests(
    sources: Iterable[ReadingSource], requests: Iterable[ReadingRequest]
) -> list[ReadingRequest]:
    """The requests that none of the sources answers."""
    present = tuple(sources)
    return [
        request for request in requests if not any(source.answers(request) for source in present)
    ]


def read_all(
    sources: Iterable[ReadingSource], requests: Iterable[ReadingRequest], snapshot: Snapshot
) -> Readings:
    """All requested readings, each once; what no source answers has a problem (RDG001)."""
    open_requests = sorted(set(requests))
    entries: list[Reading] = []
    for source in sources:
        own = [request for request in open_requests if source.answers(request)]
        open_requests = [request for request in open_requests if not source.answers(request)]
        entries += source.read(own, snapshot) if own else ()
    return Readings(
        (*entries, *(_reading_without_source(request, snapshot) for request in open_requests))
    )


def _reading_without_source(
    request: ReadingRequest,
    snapshot: Snapshot,
    problem: Problem | None = None,
) -> Reading:
    """The reading that no source could be queried for. problem: None where no address was given."""
    sizes = {"node": len(snapshot.nodes), "pod": len(snapshot.pods), "pair": 0}
    size = sizes[request.subject]
    absent = np.full(size, np.nan)
    return Reading(
        request=request,
        unit="",
        values=absent,
        ages=absent,
        expected=np.ones(size, dtype=np.bool_),
        problem=problem or Problem("RDG001", _explain_no_address(snapshot)),
    )


def _explain_no_address(snapshot: Snapshot) -> str:
    """That no address was given, with the line to write where a Service is likely the source."""
    text = f"No {OPTIONS} was given, so there is nothing to read."
    candidates = metric_services(snapshot.services, Settings().metric_namespaces)
    return f"{text} Maybe {OPTIONS} {candidates[0].url}." if candidates else text

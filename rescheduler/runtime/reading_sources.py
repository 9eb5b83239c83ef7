"""Where readings come from: what a cycle asks of a metric source, and which ones there are.

Another metric source is a module in `sources` with these three methods, its settings, and an entry
in `reading_sources`.
"""

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import SettingsError
from rescheduler.model.problem import Problem
from rescheduler.runtime.settings import AUTO, Settings, catalogs_in
from rescheduler.sources.datasets import Catalogs
from rescheduler.sources.kubernetes.metric_services import metric_service
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.prometheus.http.access import Access, header_files
from rescheduler.sources.prometheus.prometheus import Prometheus, PrometheusReadings
from rescheduler.sources.prometheus.series_values import number

OPTIONS = "--prometheus-url"
"""What gives a metric source."""

BUILT_IN = tuple(CATALOG)
"""The names of all readings that nobody needs to define."""


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


def reading_sources(settings: Settings, *, stats: bool = False) -> tuple[ReadingSource, ...]:
    """The sources that the settings give; if two have a reading, the first is queried.

    stats: whether to ask what each query cost.

    Raises:
        SettingsError: the settings of one of them cannot be used.
    """
    catalogs = Catalogs(catalogs_in(settings.dataset_catalogs))
    if settings.prometheus_url is None:
        return (catalogs,)
    if settings.prometheus_url == AUTO:
        return (catalogs, DiscoveredSource(lambda url: _prometheus(settings, url, stats=stats)))
    return (catalogs, _prometheus(settings, settings.prometheus_url, stats=stats))


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
    until = time.monotonic() + prometheus.deadline
    try:
        return {
            name: {
                sample.metric.get("job", ""): round(number(sample.value[1]))
                for sample in prometheus.query(
                    f"count by (job) ({name}{{{prometheus.match}}})", None, until
                ).samples
            }
            for name in names
        }
    finally:
        prometheus.close()


class DiscoveredSource:
    """The metric source that the Services of the cluster lead to, looked for in every cycle.

    make: the source at an address.
    """

    def __init__(self, make: Callable[[str], PrometheusReadings]) -> None:
        self._make = functools.cache(make)

    def answers(self, request: ReadingRequest) -> bool:  # noqa: ARG002 - as the source itself
        """Always, as the source itself does."""
        return True

    def catalog(self) -> list[ReadingRequest]:
        """Every reading of the catalogue."""
        return [ReadingRequest(name) for name in CATALOG]

    def read(self, requests: Sequence[ReadingRequest], snapshot: Snapshot) -> Iterable[Reading]:
        """As the source reads them.

        Raises:
            SettingsError: there is none, or there are several.
        """
        return self._make(metric_service(snapshot.services)).read(requests, snapshot)


def locate_source(settings: Settings, snapshot: Snapshot) -> Settings:
    """The settings with the address of the metric source that the cluster has.

    Raises:
        SettingsError: it was to be found, and there is none, or there are several.
    """
    if settings.prometheus_url != AUTO:
        return settings
    return replace(settings, prometheus_url=metric_service(snapshot.services))


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


def _reading_without_source(request: ReadingRequest, snapshot: Snapshot) -> Reading:
    """The reading that no source could be queried for."""
    sizes = {"node": len(snapshot.nodes), "pod": len(snapshot.pods), "pair": 0}
    size = sizes[request.subject]
    absent = np.full(size, np.nan)
    return Reading(
        request=request,
        unit="",
        values=absent,
        ages=absent,
        expected=np.ones(size, dtype=np.bool_),
        problem=Problem("RDG001", f"No {OPTIONS} was given, so there is nothing to read."),
    )

"""The metric source that the Services of the cluster lead to: asked, and ranked by the answers."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import MetricsUnavailable, SettingsError
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.sources.kubernetes.metric_services import MetricService, metric_services
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.prometheus.known_nodes import count_known_nodes
from rescheduler.sources.prometheus.prometheus import PrometheusReadings

MOST_CANDIDATES = 6
"""Services that are asked in one cycle, as one that does not answer takes seconds."""


@dataclass(frozen=True, slots=True)
class FoundSource:
    """What looking for a metric source came to.

    service, source: the chosen one, or None; problem: then why there is none. has_candidates: if
    anything could be asked.
    """

    service: MetricService | None
    source: PrometheusReadings | None
    problem: str = ""
    has_candidates: bool = True


class DiscoveredSource:
    """The metric source of the cluster, looked for in every cycle.

    make: the source at a Service. namespaces: whose Services may be it.
    unread: the reading of a request that nobody answers, and why.
    """

    def __init__(
        self,
        make: Callable[[MetricService], PrometheusReadings],
        namespaces: frozenset[str],
        unread: Callable[[ReadingRequest, Snapshot, Problem], Reading],
    ) -> None:
        self._make = functools.cache(make)
        self._namespaces = namespaces
        self._unread = unread
        self._latest: tuple[Snapshot, FoundSource] | None = None

    def answers(self, request: ReadingRequest) -> bool:  # noqa: ARG002 - as the source itself
        """Always, as the source itself does."""
        return True

    def catalog(self) -> list[ReadingRequest]:
        """Every reading of the catalogue."""
        return [ReadingRequest(name) for name in CATALOG]

    def read(self, requests: Sequence[ReadingRequest], snapshot: Snapshot) -> Iterable[Reading]:
        """As the source reads them; where there is none, readings with that as their problem."""
        discovery = self.discover(snapshot)
        if discovery.source is None:
            # A cluster without a metric source is no fault; one that does not answer is.
            problem = Problem("RDG001" if discovery.has_candidates else "RDG017", discovery.problem)
            return [self._unread(request, snapshot, problem) for request in requests]
        return discovery.source.read(requests, snapshot)

    def discover(self, snapshot: Snapshot) -> FoundSource:
        """The source that knows most nodes of this snapshot; of several the likeliest by name."""
        if self._latest is None or self._latest[0] is not snapshot:
            self._latest = (snapshot, self._ask_candidates(snapshot))
        return self._latest[1]

    def _ask_candidates(self, snapshot: Snapshot) -> FoundSource:
        candidates = metric_services(snapshot.services, self._namespaces)[:MOST_CANDIDATES]
        best, most, answers = None, 0, []
        for candidate in candidates:
            try:
                source = self._make(candidate)
                known_nodes = count_known_nodes(source.prometheus, snapshot)
            except (MetricsUnavailable, SettingsError) as error:
                answers.append(f"{candidate.url}: {error.message}")
                continue
            of_all = count_text(len(snapshot.nodes), "node")
            answers.append(f"{candidate.url} knows {known_nodes} of {of_all}")
            if known_nodes > most:
                best, most = FoundSource(candidate, source), known_nodes
        return best or FoundSource(None, None, self._explain_none(answers), bool(answers))

    def _explain_none(self, answers: list[str]) -> str:
        if answers:
            return f"No metric source of this cluster was found: {'; '.join(answers)}"
        return (
            "No Service of Prometheus, Thanos, Mimir or VictoriaMetrics was found in the "
            f"namespaces {', '.join(sorted(self._namespaces))}"
        )

"""The metrics of the catalogue, as a process counts them and Prometheus scrapes them."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from rescheduler.runtime.servers.metric_catalogue import METRICS, Metric

disable_created_metrics()  # type: ignore[no-untyped-call]
"""One series more for each counter and histogram, which nothing that we know of reads."""


class MetricRegistry:
    """The metrics of one server of the catalogue, in a registry of their own.

    They are named without `rescheduler_`; labels: values in the order of the catalogue.
    """

    def __init__(self, server: str) -> None:
        self.registry = CollectorRegistry()
        self._rows = [row for row in METRICS if row.server == server]
        self._metrics = {row.name: _collector(row, self.registry) for row in self._rows}

    def gauge(self, name: str, *labels: str) -> Gauge:
        """A gauge, or that of these labels."""
        gauge = self._metrics[f"rescheduler_{name}"]
        assert isinstance(gauge, Gauge)  # noqa: S101 - the catalogue's type is what is asked for
        return gauge.labels(*labels) if labels else gauge

    def counter(self, name: str, *labels: str) -> Counter:
        """A counter, or that of these labels."""
        counter = self._metrics[f"rescheduler_{name}"]
        assert isinstance(counter, Counter)  # noqa: S101 - as above
        return counter.labels(*labels) if labels else counter

    def histogram(self, name: str, *labels: str) -> Histogram:
        """A histogram, or that of these labels."""
        histogram = self._metrics[f"rescheduler_{name}"]
        assert isinstance(histogram, Histogram)  # noqa: S101 - as above
        return histogram.labels(*labels) if labels else histogram

    def forget_plan(self) -> None:
        """Show nothing of a plan: series with labels go, a single value is not known (NaN)."""
        for row in self._rows:
            if row.follows_plan:
                self._metrics[row.name].clear()
                if not row.labels:
                    self.gauge(row.name.removeprefix("rescheduler_")).set(float("nan"))

    def text(self) -> bytes:
        """What /metrics answers."""
        return generate_latest(self.registry)


def _collector(row: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    if row.type == "histogram":
        return Histogram(row.name, row.text, row.labels, buckets=row.buckets, registry=registry)
    kind = Counter if row.type == "counter" else Gauge
    return kind(row.name, row.text, row.labels, registry=registry)

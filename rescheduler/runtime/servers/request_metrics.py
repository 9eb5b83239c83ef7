"""Counts requests, and how long the answers took."""

from prometheus_client import CollectorRegistry, Histogram, generate_latest

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)


class RequestMetrics:
    """Metrics of a server, in Prometheus's text format."""

    def __init__(self, prefix: str) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            f"{prefix}_request_seconds",
            "How long answers took, by path and status.",
            ["path", "status"],
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._seconds.labels(path, str(status)).observe(seconds)

    def text(self) -> bytes:
        """The page of /metrics."""
        return generate_latest(self._registry)

"""Counts requests, and how long the answers took."""

from rescheduler.runtime.servers.metric_registry import MetricRegistry


class RequestMetrics(MetricRegistry):
    """Metrics of a server. server: its command, as the catalogue has it."""

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self._name = f"{server}_request_seconds"

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.histogram(self._name, path, str(status)).observe(seconds)

"""An object of the cluster that was kept as it was."""

from typing import Any


class KeptObject:
    """Stands for a ConfigMap in the API server; what is written takes its place."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.content = body

    def read(self) -> dict[str, Any] | None:
        return self.content

    def create(self, body: dict[str, Any]) -> dict[str, Any] | None:
        return self.replace(body)

    def replace(self, body: dict[str, Any]) -> dict[str, Any] | None:
        self.content = body
        return body

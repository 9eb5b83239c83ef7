"""A certificate and its key, as they are stored."""

from typing import Any


class Stored:
    """A stored object that a rival may write first."""

    def __init__(self, body: dict[str, Any] | None = None) -> None:
        self.body = body
        self.writes = 0
        self.rival: dict[str, Any] | None = None

    def read(self) -> dict[str, Any] | None:
        return None if self.body is None else {**self.body}

    def replace(self, body: dict[str, Any]) -> dict[str, Any] | None:
        if self.rival is not None:
            self.body, self.rival = self.rival, None
            return None
        self.writes += 1
        self.body = body
        return body

    create = replace

"""One page of a list of the API server, which has fewer objects where these are very large."""

from typing import Protocol

from rescheduler.sources.kubernetes.transport import MAX_BODY, MAX_PAGE, AnswerTooLarge, GetResponse

PAGE = 500
SMALL_PAGE = 50
"""Where a page is larger than we take; as many objects of 1.5 MiB, the most of etcd, fit in one."""


class Fetches(Protocol):
    """A `Connection`, as far as it is needed to read."""

    def fetch(
        self,
        path: str,
        query: dict[str, str] | None = None,
        until: float | None = None,
        *,
        most: int = MAX_BODY,
    ) -> GetResponse:
        """A GET, answered by `time.monotonic() == until`; raises ClusterUnavailable."""
        ...


def read_page(
    connection: Fetches,
    path: str,
    query: dict[str, str],
    until: float,
    remaining: int | None = None,
) -> GetResponse:
    """The page of this list that the query asks for.

    remaining: bytes that may still be read, where these are limited.

    Raises:
        AnswerTooLarge: a small page has more bytes than we take.
        ClusterUnavailable: as `Connection.fetch`.
    """
    most = MAX_PAGE if remaining is None else min(MAX_PAGE, remaining)
    try:
        return connection.fetch(path, {**query, "limit": str(PAGE)}, until, most=most)
    except AnswerTooLarge:
        return connection.fetch(path, {**query, "limit": str(SMALL_PAGE)}, until, most=most)

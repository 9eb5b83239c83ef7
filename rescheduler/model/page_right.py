"""What somebody needs to see a page of the service, and who asks for it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PageRight:
    """The right to `get` a path that is no resource, or else the pods of a namespace."""

    path: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who shows a token: `status.user` of its TokenReview."""

    user: dict[str, Any]

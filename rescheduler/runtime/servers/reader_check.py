"""Who may see the pages of the service."""

import base64
import binascii
from typing import Protocol


class ReaderCheck(Protocol):
    """Decides about requests."""

    def refuse(self, path: str, authorizations: list[str]) -> int:
        """The status that refuses a request for this path with these headers; 0: it is let in."""
        ...


def shown_secret(authorizations: list[str]) -> bytes | None:
    """The token that a request shows, as bearer token or as the password of any user.

    Scrapers have the one, and browsers ask people for the other. None: it shows none, or several,
    of which others may take another one.
    """
    if len(authorizations) != 1:
        return None
    scheme, _, credentials = authorizations[0].partition(" ")
    shown = credentials.strip().encode()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(shown, validate=True).partition(b":")[2]
        except binascii.Error:
            return None
    return shown if scheme.lower() == "bearer" else None

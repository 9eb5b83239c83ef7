"""The token that anybody who reads metrics and reports has to show."""

import base64
import binascii
import hmac
from pathlib import Path

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.logs import logger

_HINT = "write one line into it, of 16 characters or more and without spaces; two while it rotates."
_LEAST = 16
_MOST = 2
"""Readers and servers get a new token at different moments: both tokens count meanwhile."""


class Token:
    """A token in a file, or an old and a new one; read for each request, because it rotates."""

    def __init__(self, file: Path) -> None:
        """file: holds the token, or two, each in a line of its own, and nothing else.

        Raises:
            SettingsError: no token can be read from it.
        """
        self._file = file
        problem = self._read()[1]
        if problem:
            raise SettingsError(f"--listen-token-file {file}: {problem}", _HINT)

    def shown_by(self, authorization: str | None) -> bool:
        """Whether this header shows it: as bearer token, or as the password of any user.

        Scrapers have the one, and browsers ask people for the other. Nobody shows a token that
        cannot be read.
        """
        tokens, problem = self._read()
        if problem:
            logger().error("nobody may read metrics and reports", reason=problem)
            return False
        scheme, _, credentials = (authorization or "").partition(" ")
        shown = credentials.strip().encode()
        if scheme.lower() == "basic":
            try:
                shown = base64.b64decode(shown, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif scheme.lower() != "bearer":
            return False
        return any(hmac.compare_digest(shown, token) for token in tokens)

    def _read(self) -> tuple[list[bytes], str]:
        """The tokens, and what is wrong with them."""
        try:
            lines = self._file.read_bytes().strip().splitlines()
        except OSError as error:
            return [], f"it cannot be read: {error.strerror}"
        tokens = [line.strip() for line in lines]
        if not 1 <= len(tokens) <= _MOST or any(
            len(token) < _LEAST or len(token.split()) != 1 for token in tokens
        ):
            return [], "it holds no token"
        return tokens, ""

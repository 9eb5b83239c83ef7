"""The token that anybody who reads metrics and reports has to show."""

import hmac
from pathlib import Path

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.reader_check import shown_secret

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

    def refuse(self, _path: str, authorizations: list[str]) -> int:
        """401 unless these headers show it, and 0 then; nobody shows what cannot be read."""
        tokens, problem = self._read()
        if problem:
            logger().error("nobody may read metrics and reports", reason=problem)
            return 401
        shown = shown_secret(authorizations)
        if shown is None:
            return 401
        return 0 if any(hmac.compare_digest(shown, token) for token in tokens) else 401

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

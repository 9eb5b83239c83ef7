"""The token that whoever reads metrics and reports has to show."""

import base64
import binascii
import hmac
from pathlib import Path

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.logs import logger

_HINT = "write one line into it, of 16 characters or more and without spaces."
_LEAST = 16


class Token:
    """A token in a file, which is read again for each request, because it rotates."""

    def __init__(self, file: Path) -> None:
        """file: holds the token, and nothing else.

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
        token, problem = self._read()
        if problem:
            logger().error("nobody may read metrics and reports", reason=problem)
            return False
        scheme, _, given = (authorization or "").partition(" ")
        shown = given.strip().encode()
        if scheme.lower() == "basic":
            try:
                shown = base64.b64decode(shown, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(shown, token)

    def _read(self) -> tuple[bytes, str]:
        """The token, and what is wrong with it."""
        try:
            token = self._file.read_bytes().strip()
        except OSError as error:
            return b"", f"it cannot be read: {error.strerror}"
        if len(token) < _LEAST or len(token.split()) != 1:
            return b"", "it holds no token"
        return token, ""

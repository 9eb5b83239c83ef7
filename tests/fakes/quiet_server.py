"""The HTTP server of fakes, which clients may hang up on."""

import sys
from http.server import ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that hang up: in another test that would be taken for its error."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell the error as ever, unless the client is gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

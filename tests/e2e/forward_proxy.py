"""An egress proxy, by which a program outside of the cluster asks for Services by their names."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener


@contextmanager
def forward_proxy(upstreams: dict[str, str]) -> Iterator[str]:
    """The address of a proxy; upstreams: host and port that are asked for -> who answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(upstreams))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(upstreams: dict[str, str]) -> type[BaseHTTPRequestHandler]:
    opener = build_opener(ProxyHandler({}))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            address = urlsplit(self.path)
            upstream = upstreams.get(address.netloc)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            if upstream is None:
                self._send(502, b"no such host")
                return
            query = f"?{address.query}" if address.query else ""
            request = Request(f"{upstream}{address.path}{query}", data=body, method=self.command)
            if "Content-Type" in self.headers:
                request.add_header("Content-Type", self.headers["Content-Type"])
            try:
                with opener.open(request, timeout=30) as answer:
                    self._send(answer.status, answer.read())
            except HTTPError as error:
                with error:
                    self._send(error.code, error.read())

        do_GET = do_POST = _forward

        def _send(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    return Handler

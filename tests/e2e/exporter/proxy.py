"""A proxy in front of Prometheus that spoils its answers as a failing backend would."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

Mode = Literal["pass", "warnings", "unavailable", "hang", "page", "truncated", "denied", "failed"]
_FAILED = b'{"status":"error","errorType":"execution","error":"a fault of the test"}'


class Proxy:
    """Passes everything on, and then does as `mode` says.

    mode: `warnings` adds `"warnings":["partial"]` to every answer; `unavailable` answers 503;
    `hang` answers nothing for 30 s; `page` answers 502 with HTML; `truncated` cuts the JSON in
    half; `denied` answers 401; `failed` answers 200 with status error. requests: how many came.
    """

    def __init__(self, upstream: str) -> None:
        """Start in front of `upstream` on a free loopback port; `url` is the address."""
        self.mode: Mode = "pass"
        self.requests = 0
        self._upstream = upstream
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def answer(self, request: Request) -> tuple[int, str, bytes]:
        """Code, content type and body for one request that came in."""
        self.requests += 1
        if self.mode == "hang":
            self._ended.wait(30)
            return 504, "text/plain", b""
        if self.mode == "unavailable":
            return 503, "text/plain", b"Service Unavailable"
        if self.mode == "denied":
            return 401, "text/plain", b"Unauthorized"
        if self.mode == "page":
            return 502, "text/html", b"<html><body><h1>502 Bad Gateway</h1></body></html>"
        if self.mode == "failed":
            return 200, "application/json", _FAILED
        return self._spoil(*_fetch(request))

    def request(self, method: str, path: str, body: bytes | None, content_type: str) -> Request:
        """The same request for the server behind."""
        request = Request(self._upstream + path, data=body, method=method)
        if body is not None:
            request.add_header("Content-Type", content_type)
        return request

    def _spoil(self, code: int, content_type: str, body: bytes) -> tuple[int, str, bytes]:
        if self.mode == "truncated":
            return code, content_type, body[: len(body) // 2]
        if self.mode == "warnings" and content_type.startswith("application/json"):
            answer = json.loads(body)
            answer["warnings"] = ["partial"]
            body = json.dumps(answer).encode()
        return code, content_type, body

    def stop(self) -> None:
        """End it, waking whatever hangs."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _fetch(request: Request) -> tuple[int, str, bytes]:
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"] or "", answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"] or "", error.read()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

        def do_GET(self) -> None:
            self._pass_on(None)

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _pass_on(self, body: bytes | None) -> None:
            kind = self.headers.get("Content-Type") or ""
            request = proxy.request(self.command, self.path, body, kind)
            code, content_type, answer = proxy.answer(request)
            try:
                self.send_response(code)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
            except ConnectionError:
                self.close_connection = True  # the client did not wait

    return Handler

"""A server of JSON that is full still answers its probes."""

from http.client import HTTPConnection
from types import SimpleNamespace

import pytest

from rescheduler.runtime.servers import json_server, listening
from rescheduler.runtime.servers.json_server import HASTE, JsonServer


def ask(connection: HTTPConnection) -> bytes:
    connection.request("POST", "/x", body=b"{}")
    return connection.getresponse().read()


def test_connections_that_nobody_uses_make_room_for_a_probe(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = 1000.0
    monkeypatch.setattr(listening, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(json_server, "MOST_CONNECTIONS", 3)
    server = JsonServer("127.0.0.1:0", {"/x": lambda body: body}, healthy=lambda: "")
    server.start()
    kept = [HTTPConnection("127.0.0.1", server.port, timeout=20) for _ in range(3)]
    probe = HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        assert [ask(connection) for connection in kept] == [b"{}"] * 3
        with pytest.raises(ConnectionError):
            ask(probe)
        now += HASTE + 1
        busy, *idle = kept
        assert ask(busy) == b"{}"
        probe.close()
        probe.request("GET", "/healthz")
        assert probe.getresponse().read() == b"ok"
        assert [connection.sock.recv(1) for connection in idle] == [b"", b""], (
            "they were hung up on"
        )
        assert ask(busy) == b"{}", "anybody who asks stays"
    finally:
        for connection in (*kept, probe):
            connection.close()
        server.stop()
    assert "Traceback" not in capfd.readouterr().err


def test_what_is_observed_of_a_request_is_its_path_and_no_query() -> None:
    """Every query would be a series of its own."""
    seen: list[tuple[str, int]] = []
    server = JsonServer(
        "127.0.0.1:0",
        {"/x": lambda body: body},
        healthy=lambda: "",
        observe=lambda path, status, _: seen.append((path, status)),
    )
    server.start()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        for query in ("?timeout=5s", "?timeout=6s", ""):
            connection.request("POST", f"/x{query}", body=b"{}")
            assert connection.getresponse().read() == b"{}"
    finally:
        connection.close()
        server.stop()
    assert seen == [("/x", 200)] * 3

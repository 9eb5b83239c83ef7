"""Probes report whether the service runs, over a real socket."""

import base64
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from rescheduler.model.errors import SettingsError
from rescheduler.model.moves.plan import Report
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.servers import server
from rescheduler.runtime.servers.front_page import FrontPage, Standing
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.past_cycles import PastCycles
from rescheduler.runtime.servers.server import Endpoints, Page, pages, text
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.servers.token import Token
from tests.cases import every
from tests.runtime.skewed import parts


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> CycleHealth:
    return CycleHealth(timedelta(seconds=100), clock)


def test_a_cycle_that_hangs_or_never_comes_ends_the_life(clock: Clock, health: CycleHealth) -> None:
    assert health.live() == ""
    health.begin()
    clock.seconds += 159
    assert health.live() == ""
    clock.seconds += 2
    assert "161 s" in health.live()
    health.finish()
    health.expect(10)
    clock.seconds += 69
    assert health.live() == ""
    clock.seconds += 2
    assert "overdue" in health.live()
    health.stand_by()
    assert health.live() == ""


def test_ready_says_what_was_wrong_with_the_last_cycle(health: CycleHealth) -> None:
    assert health.ready() == "", "it has only just begun"
    health.lead()
    health.begin()
    assert health.ready() == "", "nothing speaks against it while its first cycle runs"
    health.finish("Prometheus is down")
    assert health.ready() == "Prometheus is down"
    health.begin()
    assert health.ready() == "Prometheus is down"
    health.finish()
    assert health.ready() == ""
    health.finish("again")
    health.stand_by()
    assert health.ready() == ""
    health.lock_fault = lambda: "the API server does not answer"
    assert health.ready() == "the API server does not answer", "it could not take over"
    health.lead()
    assert health.ready() == "again"


def front(health: CycleHealth, plans: list[Report]) -> FrontPage:
    return FrontPage(
        lambda: Standing(health.leads, ("This instance runs cycles.", *health.progress())),
        lambda: plans[-1] if plans else None,
    )


@pytest.fixture
def served(health: CycleHealth) -> Iterator[tuple[str, list[Report]]]:
    plans: list[Report] = []
    telemetry = Telemetry()
    health.lead()
    found = pages(health, telemetry, front(health, plans), PastCycles())
    endpoints = Endpoints("127.0.0.1:0", found)
    endpoints.start()
    yield f"http://127.0.0.1:{endpoints.port}", plans
    endpoints.stop()


def get(url: str, method: str = "GET", shown: str | None = None) -> tuple[int, dict[str, str], str]:
    headers = {} if shown is None else {"Authorization": shown}
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, dict(answer.headers), answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read().decode()


def test_the_endpoints_answer(served: tuple[str, list[Report]], health: CycleHealth) -> None:
    url, plans = served
    assert get(f"{url}/livez")[::2] == (200, "ok\n")
    health.finish("it failed")
    assert get(f"{url}/readyz")[::2] == (503, "it failed\n")
    health.finish()
    assert get(f"{url}/readyz?verbose")[::2] == (200, "ok\n")
    status, headers, body = get(f"{url}/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "rescheduler_info{" in body
    status, _, body = get(f"{url}/")
    assert status == 200
    assert "There is no report yet." in body
    plans.append(run_cycle(parts()))
    status, headers, body = get(f"{url}/")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "web-0" in body


def test_past_cycles_are_a_page_away(served: tuple[str, list[Report]]) -> None:
    url, plans = served
    status, headers, body = get(f"{url}/history")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "There is no cycle yet." in body
    plans.append(run_cycle(parts()))
    assert '<a href="/history">' in get(f"{url}/")[2]
    assert get(f"{url}/history/1")[0] == 404


def test_nothing_else_is_served(served: tuple[str, list[Report]]) -> None:
    url, _ = served
    assert get(f"{url}/etc/passwd")[0] == 404
    assert get(f"{url}/livez", "POST")[0] == 501
    status, headers, body = get(f"{url}/livez", "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, "", "3")


@pytest.fixture
def guarded(health: CycleHealth, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of endpoints that ask for a token, and its file."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    health.lead()
    found = pages(health, Telemetry(), front(health, [run_cycle(parts())]), PastCycles())
    endpoints = Endpoints("127.0.0.1:0", found, Token(file))
    endpoints.start()
    yield f"http://127.0.0.1:{endpoints.port}", file
    endpoints.stop()


TOKEN = "a-token-of-the-scraper"
DATA = ("/metrics", "/", "/history", "/history/1", "/nothing")


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    "shown",
    [
        None,
        "",
        TOKEN,
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN} {TOKEN}",
        f"Digest {TOKEN}",
        f"Basic {TOKEN}",
        basic(TOKEN),
        basic(f"{TOKEN}:"),
        basic("me:another-token-than-it"),
    ],
)
def test_without_the_token_nothing_but_probes_is_told(
    guarded: tuple[str, Path], health: CycleHealth, shown: str | None
) -> None:
    url, _ = guarded
    health.finish()
    for path in DATA:
        for method in ("GET", "HEAD"):
            status, headers, body = get(f"{url}{path}", method, shown)
            assert status == 401, path
            assert headers["WWW-Authenticate"].startswith("Basic ")
            assert body == ("" if method == "HEAD" else "a token is needed\n")
    for probe in ("/livez", "/readyz", "/livez?verbose"):
        assert get(f"{url}{probe}", shown=shown)[0] == 200


def test_without_the_token_a_probe_keeps_its_reason_to_itself(
    guarded: tuple[str, Path], health: CycleHealth
) -> None:
    """It may name pods, and the address of the metric source."""
    url, _ = guarded
    reason = "pod team/secret-0 is Pending; http://metrics:9090 does not answer"
    health.finish(reason)
    for shown in (None, f"Bearer {TOKEN}x"):
        status, _, body = get(f"{url}/readyz", shown=shown)
        assert status == 503
        assert body == "not ready; see the log\n"
    assert get(f"{url}/readyz", shown=f"Bearer {TOKEN}")[::2] == (503, f"{reason}\n")
    health.finish()
    assert get(f"{url}/readyz")[::2] == (200, "ok\n")


@pytest.mark.parametrize(
    "shown", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(f"me:{TOKEN}"), basic(f":{TOKEN}")]
)
def test_who_shows_the_token_is_told_all(guarded: tuple[str, Path], shown: str) -> None:
    url, _ = guarded
    assert [get(f"{url}{path}", shown=shown)[0] for path in DATA] == [200, 200, 200, 404, 404]


def test_a_rotated_token_counts_at_once_and_a_gone_one_lets_nobody_in(
    guarded: tuple[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    url, file = guarded
    file.write_text("its-newer-token-by-far")
    assert get(f"{url}/metrics", shown=f"Bearer {TOKEN}")[0] == 401
    assert get(f"{url}/metrics", shown="Bearer its-newer-token-by-far")[0] == 200
    for damage in (lambda: file.write_text(""), file.unlink):
        damage()
        for shown in ("Bearer its-newer-token-by-far", "Bearer ", basic("me:")):
            assert get(f"{url}/metrics", shown=shown)[0] == 401
    said = capfd.readouterr()
    assert "by-far" not in said.out + said.err


def test_while_it_rotates_the_old_and_the_new_token_count(guarded: tuple[str, Path]) -> None:
    """Kubelets bring a Secret to the scraper and to us at different moments."""
    url, file = guarded
    newer = "its-newer-token-by-far"
    both = (f"Bearer {TOKEN}", f"Bearer {newer}", basic(f"me:{newer}"))
    file.write_text(f"{TOKEN}\r\n{newer}\n")
    for shown in both:
        assert get(f"{url}/metrics", shown=shown)[0] == 200
    for shown in (f"Bearer {TOKEN} {newer}", f"Bearer {TOKEN}{newer}"):
        assert get(f"{url}/metrics", shown=shown)[0] == 401
    file.write_text(newer)
    assert [get(f"{url}/metrics", shown=shown)[0] for shown in both] == [401, 200, 200]


BROKEN = [
    None,
    "",
    " \n",
    "short",
    "two-tokens-in one-line-of-it",
    f"{TOKEN}\nshort",
    f"{TOKEN}\n\n{TOKEN}",
    f"{TOKEN}\n{TOKEN}1\n{TOKEN}2",
]


@pytest.mark.parametrize("text", BROKEN)
def test_it_does_not_start_without_the_token_it_was_told_to_ask_for(
    text: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match="--listen-token-file"):
        Token(file)


@every(["8080", "localhost", "127.0.0.1:http", "127.0.0.1:70000", ""])
def test_an_address_that_is_none_is_named(listen: str) -> None:
    with pytest.raises(SettingsError, match="is not an address"):
        Endpoints(listen, {})


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"--listen {listen} cannot be used"):
            Endpoints(listen, {})


def test_connections_are_bounded_and_the_oldest_make_room(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(server, "PATIENCE", 0.2)
    endpoints = Endpoints("127.0.0.1:0", {"/livez": lambda: text("")})
    endpoints.start()
    address = ("127.0.0.1", endpoints.port)
    before = threading.active_count()
    silent = [socket.create_connection(address) for _ in range(12)]
    try:
        for connection in silent:
            connection.sendall(b"GET /livez")  # and never the rest
        time.sleep(0.05)
        assert threading.active_count() - before <= 3
        assert _in_the_end(f"http://127.0.0.1:{endpoints.port}/livez") == b"ok\n"
    finally:
        for connection in silent:
            connection.close()
        endpoints.stop()
    assert "Traceback" not in capfd.readouterr().err


def _in_the_end(url: str) -> bytes:
    for _ in range(100):
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the probe was kept out")


def test_a_page_that_cannot_be_made_is_a_bare_500(capfd: pytest.CaptureFixture[str]) -> None:
    def broken() -> Page:
        raise ValueError("secret insides")

    endpoints = Endpoints("127.0.0.1:0", {"/": broken})
    endpoints.start()
    try:
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"http://127.0.0.1:{endpoints.port}/", timeout=2)
        assert caught.value.code == 500
        assert b"secret" not in caught.value.read()
    finally:
        endpoints.stop()
    assert "Traceback" not in capfd.readouterr().err

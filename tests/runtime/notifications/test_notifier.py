"""Receivers are told of cycles over real HTTP, and none of them can hold a cycle up."""

import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from structlog.testing import CapturingLogger

from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.notifications import Notifications
from rescheduler.runtime.notifications import notifier as notifier_module
from rescheduler.runtime.notifications.notifier import Notifier
from tests.reporting.samples import empty, held, outcome, plan
from tests.runtime.notifications.receivers import (
    PATH,
    TOKEN,
    Notified,
    bodies,
    receiver,
    write_address,
)
from tests.sources.server import Reply, Request, Served, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(lambda _request: Reply()) as server:
        yield server


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> CapturingLogger:
    captured = CapturingLogger()
    logger = structlog.wrap_logger(captured, processors=[], wrapper_class=structlog.BoundLogger)
    monkeypatch.setattr(notifier_module, "logger", lambda: logger)
    return captured


def test_each_type_gets_its_form_by_post(tmp_path: Path, served: Served) -> None:
    write_address(tmp_path, served)
    write_address(tmp_path, served, "", "alerts")
    types = ("Webhook", "Slack", "Teams")
    told = Notified(
        tmp_path,
        *(receiver(name=name.lower(), type=name, occasions=["Hold"]) for name in types),
        receiver(name="am", type="Alertmanager", addressFile="alerts", occasions=["Hold"]),
    )
    told.tell(held())
    webhook, slack, teams, alerts = bodies(served)
    assert [request.path for request in served.requests] == [PATH] * 3 + ["/api/v2/alerts"]
    assert {request.headers["content-type"] for request in served.requests} == {"application/json"}
    assert webhook["occasion"] == "Hold"
    assert webhook["code"] == "GRD001"
    assert "All moves are held: Too many nodes are above their targets at once" in slack["text"]
    assert teams["attachments"][0]["content"]["type"] == "AdaptiveCard"
    assert alerts[0]["labels"]["alertname"] == "ReschedulerHold"
    assert told.counts == {
        (name, "Hold", "sent"): 1 for name in ("webhook", "slack", "teams", "am")
    }


def test_only_the_occasions_of_a_receiver_are_sent(tmp_path: Path, served: Served) -> None:
    write_address(tmp_path, served)
    told = Notified(tmp_path, receiver(occasions=["MovesMade"]))
    told.tell(plan())
    told.tell(outcome())
    assert [body["occasion"] for body in bodies(served)] == ["MovesMade"]


def test_the_same_is_told_again_only_after_its_time(tmp_path: Path, served: Served) -> None:
    write_address(tmp_path, served)
    told = Notified(tmp_path, receiver(occasions=["Hold"], repeatAfter="2h"))
    for _ in range(3):
        told.tell(held())
    assert len(served.requests) == 1
    told.now += 7201
    told.tell(held())
    assert len(served.requests) == 2


def test_a_hold_that_ended_and_comes_back_is_told_again(tmp_path: Path, served: Served) -> None:
    write_address(tmp_path, served)
    told = Notified(tmp_path, receiver(occasions=["Hold"]))
    for report in (held(), empty(), held()):
        told.tell(report)
    assert len(served.requests) == 2


def test_alertmanager_is_told_when_a_state_has_ended(tmp_path: Path, served: Served) -> None:
    write_address(tmp_path, served, "")
    told = Notified(tmp_path, receiver(type="Alertmanager", occasions=["Hold"]))
    told.tell(held())
    told.tell(empty())
    told.tell(empty())
    [[begun], [ended]] = bodies(served)
    assert begun["labels"] == ended["labels"]
    assert begun["endsAt"] > begun["startsAt"]
    assert ended["endsAt"] == "2026-11-21T14:02:07.000+00:00"


def test_an_hour_has_so_many_and_the_next_says_how_many_were_left_out(
    tmp_path: Path, served: Served, lines: CapturingLogger
) -> None:
    write_address(tmp_path, served)
    told = Notified(tmp_path, receiver(occasions=["Hold"], perHour=2))
    for _ in range(4):
        told.tell(held())
        told.tell(empty())
    assert len(served.requests) == 2
    assert told.counts["team", "Hold", "limited"] == 2
    assert {call.kwargs["code"] for call in lines.calls} == {"NTF003"}
    told.now += 3601
    told.tell(held())
    assert "2 messages about this occasion were left out" in bodies(served)[-1]["lines"][-1]


def test_one_state_is_left_out_once_however_long_it_lasts(
    tmp_path: Path, served: Served, lines: CapturingLogger
) -> None:
    write_address(tmp_path, served)
    told = Notified(tmp_path, receiver(occasions=["Hold"], perHour=1))
    for report in (held(), empty(), held(), held(), held()):
        told.tell(report)
    assert len(lines.calls) == 1
    told.now += 3601
    told.tell(held())
    assert len(served.requests) == 2
    assert "1 message about this occasion was left out" in bodies(served)[-1]["lines"][-1]


def test_a_message_that_was_not_taken_is_tried_with_the_next_cycle(
    tmp_path: Path, lines: CapturingLogger
) -> None:
    statuses = iter([503, 200])
    with serving(lambda _request: Reply(status=next(statuses))) as served:
        write_address(tmp_path, served)
        told = Notified(tmp_path, receiver(occasions=["Hold"]))
        told.tell(held())
        told.tell(held())
        told.tell(held())
        assert len(served.requests) == 2
    assert told.counts == {("team", "Hold", "failed"): 1, ("team", "Hold", "sent"): 1}
    [call] = lines.calls
    assert call.method_name == "warning"
    assert call.kwargs["code"] == "NTF002"
    assert "503" in call.kwargs["message"]


def redirect(_request: Request) -> Reply:
    return Reply(status=302, headers={"Location": "/elsewhere"})


def cut(_request: Request) -> Reply:
    return Reply(body=b"x" * 4000, cut=True)


@pytest.mark.parametrize("answer", [redirect, cut])
def test_no_part_of_an_address_or_token_is_in_the_log(
    tmp_path: Path, lines: CapturingLogger, answer: Callable[[Request], Reply]
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "nowhere").write_text(f"http://127.0.0.1:1{PATH}")
    with serving(answer) as served:
        write_address(tmp_path, served)
        told = Notified(
            tmp_path,
            receiver(occasions=["Hold"], tokenFile="token"),
            receiver(name="nowhere", occasions=["Hold"], addressFile="nowhere"),
        )
        told.tell(held())
        [request] = served.requests
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert [call.kwargs["code"] for call in lines.calls] == ["NTF002", "NTF002"]
    text = str(lines.calls)
    assert not any(part in text for part in (TOKEN, PATH, "T000", "127.0.0.1"))


def test_what_cannot_be_read_is_a_warning_with_its_code(
    tmp_path: Path, lines: CapturingLogger
) -> None:
    told = Notified(tmp_path, receiver(occasions=["Hold"]))
    told.tell(held())
    [call] = lines.calls
    assert call.kwargs["code"] == "NTF001"
    assert str(tmp_path / "address") in call.kwargs["message"]
    assert told.counts == {("team", "Hold", "failed"): 1}


def test_a_silent_receiver_delays_no_cycle_and_no_other_receiver(
    tmp_path: Path, lines: CapturingLogger
) -> None:
    hang = threading.Event()
    silent = serving(lambda _request: Reply(hang=hang))
    with silent as slow, serving(lambda _request: Reply()) as served:
        write_address(tmp_path, slow, name="slow")
        write_address(tmp_path, served)
        first = receiver(name="slow", addressFile="slow", timeout="1s")
        told = Notified(tmp_path, first, receiver())
        began = time.monotonic()
        told.notifier.notify(outcome())
        for _ in range(4):
            told.notifier.notify(held())
        assert time.monotonic() - began < 0.5
        told.notifier.close(20)
        hang.set()
        assert len(slow.requests) <= 4, "one request for each cycle, not for each occasion"
        assert {body["occasion"] for body in bodies(served)} == {"MovesMade", "Hold"}
    assert told.counts["slow", "all", "dropped"] >= 1
    assert {"NTF002", "NTF004"} == {call.kwargs["code"] for call in lines.calls}


def test_closing_ends_in_its_time_whatever_a_receiver_does(tmp_path: Path) -> None:
    hang = threading.Event()
    with serving(lambda _request: Reply(hang=hang)) as slow:
        write_address(tmp_path, slow)
        told = Notified(tmp_path, receiver(timeout="2s"))
        told.notifier.notify(held())
        began = time.monotonic()
        told.notifier.close(0.3)
        assert time.monotonic() - began < 1
        hang.set()
        told.notifier.close(5)


def test_a_certificate_is_checked_with_the_authorities_of_the_file(
    tmp_path: Path, lines: CapturingLogger
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=receiver", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(lambda _request: Reply(), context) as served:
        write_address(tmp_path, served)
        told = Notified(
            tmp_path,
            receiver(occasions=["Hold"], caFile="ca.pem"),
            receiver(name="unsure", occasions=["Hold"]),
        )
        told.tell(held())
    assert told.counts == {("team", "Hold", "sent"): 1, ("unsure", "Hold", "failed"): 1}
    assert "certificate" in lines.calls[0].kwargs["message"].lower()


def test_a_fault_of_our_own_is_logged_and_the_next_report_is_told(
    tmp_path: Path, served: Served, lines: CapturingLogger, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_address(tmp_path, served)
    told = Notified(tmp_path, receiver(occasions=["Hold"]))
    with monkeypatch.context() as broken:
        broken.setattr(notifier_module, "notices", lambda _report: 1 / 0)
        told.notifier.notify(held())
        until = time.monotonic() + 5
        while not lines.calls and time.monotonic() < until:
            time.sleep(0.01)
    told.notifier.notify(held())
    told.notifier.close(5)
    assert [call.method_name for call in lines.calls] == ["exception"]
    assert len(served.requests) == 1


def test_without_receivers_there_is_no_thread(tmp_path: Path) -> None:
    notifier = Notifier(tmp_path)
    policies = replace(policy_set([]), notifications=Notifications())
    assert notifier.keep_receivers(lambda: policies)() is policies
    notifier.notify(held())
    assert notifier._thread is None
    notifier.close(1)

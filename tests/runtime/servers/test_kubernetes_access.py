"""Pages are shown to those whom Kubernetes' own rights let, whatever else a client sends."""

import base64
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest

from rescheduler.model.errors import ActionError, SettingsError
from rescheduler.model.moves.plan import Plan, PlannedMove, PodRef, Refusal
from rescheduler.model.page_right import PageRight, Reader
from rescheduler.runtime.page_access import page_access
from rescheduler.runtime.servers.front_page import FrontPage, Standing
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.kubernetes_access import (
    LASTS,
    MOST_ANSWERS,
    KubernetesAccess,
    right_for,
)
from rescheduler.runtime.servers.past_cycles import PastCycles
from rescheduler.runtime.servers.server import Endpoints, pages
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.settings import Settings
from tests.cases import every
from tests.reporting import samples

RIGHTS: dict[str, set[PageRight]] = {
    "scraper": {PageRight("/metrics")},
    "admin": {PageRight("/metrics"), PageRight("/rescheduler-reports")},
    "shop-team": {PageRight(namespace="shop")},
    "nobody": set(),
}
"""By the name of who shows the token `NAME-token`."""


class FakeReviews:
    """Knows the tokens of RIGHTS; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fault = ""
        self.rights = {name: set(rights) for name, rights in RIGHTS.items()}

    def find_reader(self, token: str) -> Reader | None:
        self._ask(f"token {token}")
        name = token.removesuffix("-token")
        return Reader({"username": name}) if name in self.rights and name != token else None

    def may_see(self, reader: Reader, right: PageRight) -> bool:
        self._ask(f"right {right}")
        return right in self.rights[reader.user["username"]]

    def _ask(self, what: str) -> None:
        if self.fault:
            raise ActionError(self.fault, "wait.")
        self.asked.append(what)


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def reviews() -> FakeReviews:
    return FakeReviews()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(reviews: FakeReviews, clock: Clock) -> KubernetesAccess:
    return KubernetesAccess(reviews, clock)


def bearer(name: str) -> list[str]:
    return [f"Bearer {name}-token"]


@every(
    [
        ("scraper", "/metrics", 0),
        ("scraper", "/", 403),
        ("admin", "/", 0),
        ("admin", "/history/3", 0),
        ("admin", "/metrics", 0),
        ("admin", "/namespaces/shop", 403),  # get on the pods is asked for, which decides
        ("shop-team", "/namespaces/shop", 0),
        ("shop-team", "/namespaces/bank", 403),
        ("shop-team", "/namespaces/shop/", 403),
        ("shop-team", "/namespaces/", 403),
        ("shop-team", "/namespaces/shop%2f..", 403),
        ("shop-team", "/namespaces/../", 403),
        ("shop-team", "/", 403),
        ("shop-team", "/history", 403),
        ("nobody", "/", 403),
        ("stranger", "/", 401),
    ]
)
def test_each_page_needs_its_right(name: str, path: str, status: int) -> None:
    assert KubernetesAccess(FakeReviews()).refuse(path, bearer(name)) == status


@every(
    [
        [],
        [""],
        ["Bearer"],
        ["Bearer "],
        ["admin-token"],
        ["Negotiate admin-token"],
        ["Basic admin-token"],
        ["Bearer admin-token", "Bearer admin-token"],
        ["Bearer nobody-token", "Bearer admin-token"],
        ["Bearer \xe9"],
        ["Bearer " + "a" * 17_000],
        ["Bearer admin-token admin-token"],
        ["Bearer admin-token\x00"],
    ]
)
def test_what_shows_no_single_token_is_refused_without_a_question(headers: list[str]) -> None:
    reviews = FakeReviews()
    assert KubernetesAccess(reviews).refuse("/", headers) == 401
    assert reviews.asked == []


def test_a_browser_shows_the_token_as_password(access: KubernetesAccess) -> None:
    shown = base64.b64encode(b"me:admin-token").decode()
    assert access.refuse("/", [f"Basic {shown}"]) == 0


def test_answers_are_remembered_briefly(
    access: KubernetesAccess, reviews: FakeReviews, clock: Clock
) -> None:
    for _ in range(5):
        assert access.refuse("/", bearer("admin")) == 0
        assert access.refuse("/", bearer("stranger")) == 401
    assert len(reviews.asked) == 3
    reviews.rights["admin"].clear()
    clock.seconds += LASTS - 0.1
    assert access.refuse("/", bearer("admin")) == 0
    clock.seconds += 0.2
    assert access.refuse("/", bearer("admin")) == 403


def test_the_answers_of_one_token_are_not_those_of_another(access: KubernetesAccess) -> None:
    assert access.refuse("/", bearer("admin")) == 0
    assert access.refuse("/", bearer("nobody")) == 403
    assert access.refuse("/namespaces/shop", bearer("shop-team")) == 0
    assert access.refuse("/namespaces/bank", bearer("shop-team")) == 403


def test_many_tokens_and_paths_are_forgotten_again(
    access: KubernetesAccess, reviews: FakeReviews
) -> None:
    for number in range(MOST_ANSWERS + 50):
        assert access.refuse("/", [f"Bearer forged-{number}"]) == 401
        assert access.refuse(f"/namespaces/n{number}", bearer("nobody")) == 403
    assert len(access._readers._answers) == MOST_ANSWERS
    assert len(access._rights._answers) == MOST_ANSWERS
    kept = repr([*access._readers._answers, *access._rights._answers])
    assert "forged" not in kept, "tokens are not kept as they are"


def test_without_an_answer_of_the_api_server_nobody_is_let_in(
    access: KubernetesAccess, reviews: FakeReviews, clock: Clock
) -> None:
    reviews.fault = "no answer"
    assert access.refuse("/", bearer("admin")) == 503
    reviews.fault = ""
    assert access.refuse("/", bearer("admin")) == 0, "a fault is not remembered"
    reviews.fault = "no answer"
    clock.seconds += LASTS
    assert access.refuse("/", bearer("admin")) == 503


@pytest.fixture
def served(access: KubernetesAccess) -> Iterator[int]:
    health = CycleHealth(timedelta(minutes=1))
    health.lead()
    health.finish("pod team/secret-0 is Pending")
    front = FrontPage(lambda: Standing(leads=True, sentences=()), samples.plan)
    found = pages(health, Telemetry(), front, PastCycles())
    endpoints = Endpoints("127.0.0.1:0", found, access)
    endpoints.start()
    yield endpoints.port
    endpoints.stop()


def ask(port: int, path: str, *headers: tuple[str, str]) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.putrequest("GET", path)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def token(name: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {name}-token"


@every(
    [
        [],
        [("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters")],
        [("Impersonate-User", "admin"), token("nobody")],
        [("X-Forwarded-Access-Token", "admin-token"), ("X-Forwarded-User", "admin")],
        [("Proxy-Authorization", "Bearer admin-token")],
        [("Cookie", "token=admin-token")],
        [token("nobody"), token("admin")],
        [token("admin"), token("admin")],
        [("X-Original-URL", "/metrics"), token("scraper")],
    ]
)
def test_no_other_header_lets_anybody_in(headers: list[tuple[str, str]]) -> None:
    health, reviews = CycleHealth(timedelta(minutes=1)), FakeReviews()
    front = FrontPage(lambda: Standing(leads=True, sentences=()), samples.plan)
    found = pages(health, Telemetry(), front, PastCycles())
    endpoints = Endpoints("127.0.0.1:0", found, KubernetesAccess(reviews))
    endpoints.start()
    try:
        for path in ("/", "/?token=admin-token", "//", "/nothing", "/namespaces/shop"):
            status, body = ask(endpoints.port, path, *headers)
            assert status in (401, 403), path
            assert len(body) < 40
    finally:
        endpoints.stop()


def test_the_right_reader_gets_the_page_and_the_reason(served: int) -> None:
    assert ask(served, "/", token("admin"))[0] == 200
    assert ask(served, "/nothing", token("admin"))[0] == 404
    assert ask(served, "/metrics", token("scraper"))[0] == 200
    assert ask(served, "/readyz") == (503, "not ready; see the log\n")
    assert ask(served, "/readyz", token("shop-team")) == (503, "not ready; see the log\n")
    assert ask(served, "/readyz", token("admin")) == (503, "pod team/secret-0 is Pending\n")
    assert ask(served, "/livez") == (200, "ok\n")


def test_huge_and_slow_requests_end_and_others_are_served(served: int) -> None:
    huge = [("X-A", "a" * 70_000)]
    assert ask(served, "/", *huge)[0] in (400, 431)
    many = [(f"X-{number}", "a") for number in range(200)]
    assert ask(served, "/", *many)[0] in (400, 431)
    slow = socket.create_connection(("127.0.0.1", served))
    try:
        slow.sendall(b"GET / HTTP/1.1\r\nAuthorization: Bearer adm")
        began = time.monotonic()
        assert ask(served, "/", token("admin"))[0] == 200
        assert time.monotonic() - began < 3
    finally:
        slow.close()


def test_the_section_of_a_team_names_nobody_elses_objects() -> None:
    report = samples.outcome()
    plan = report.plan
    front = FrontPage(lambda: Standing(leads=True, sentences=()), lambda: report)
    names: dict[str, set[str]] = {}
    for subject in _subjects(plan):
        own = {subject.pod.name} | ({subject.owner.name} if subject.owner else set())
        names.setdefault(subject.pod.namespace, set()).update(own)
    assert len(names) >= 2
    for namespace, own in names.items():
        text = front.render_section(namespace).decode()
        assert all(pod.name in text for pod in _pods(plan, namespace))
        others = {name for other, found in names.items() if other != namespace for name in found}
        assert not [name for name in others - own if name in text], namespace
        assert not [other for other in names if other != namespace and f"{other}/" in text]
    nothing = front.render_section("empty").decode()
    assert "No pod of this namespace is moved." in nothing
    empty = FrontPage(lambda: Standing(leads=True, sentences=()), lambda: None)
    assert "There is no report yet." in empty.render_section("shop").decode()


def _pods(plan: Plan, namespace: str) -> list[PodRef]:
    return [subject.pod for subject in _subjects(plan) if subject.pod.namespace == namespace]


def _subjects(plan: Plan) -> list[PlannedMove | Refusal]:
    return [*plan.moves, *plan.refused]


def test_a_page_of_a_name_that_is_no_namespace_needs_the_right_to_all() -> None:
    assert right_for("/namespaces/UPPER").path == "/rescheduler-reports"
    assert right_for("/namespaces/a/b").path == "/rescheduler-reports"
    assert right_for("/namespaces/shop").namespace == "shop"


def test_it_does_not_start_with_settings_that_contradict(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-the-scraper")
    with pytest.raises(SettingsError, match="contradict"):
        page_access(Settings(page_access="Kubernetes", listen_token_file=file), None)
    with pytest.raises(SettingsError, match="needs a cluster"):
        page_access(Settings(page_access="Kubernetes"), None)
    assert page_access(Settings(), None) is None

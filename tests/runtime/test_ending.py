"""SIGTERM ends the real program within five seconds, wherever it is; in order where it can.

The seconds that it has to end in order are others here, so that a slow machine changes no result:
few where it must be cut off, many where it must end in order, and what hangs does so for longer.
"""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rescheduler.actions.lease import LONGEST_RELEASE
from rescheduler.runtime import stopping
from tests.fakes.apiserver import FakeServer, Fault
from tests.fakes.apiserver import serving as acting_server
from tests.fakes.loaded import Loader, loader
from tests.fakes.manners import Reply as WorldReply
from tests.fakes.world import World
from tests.sources.connected import kubeconfig
from tests.sources.objects import Api, node, pod
from tests.sources.server import Reply, Request, serving

ROOT = Path(__file__).parents[2]
SOON = 30.0
"""Seconds for a slow machine to end the program; what holds it up takes longer by far."""
HANGS = 120.0
CUT_OFF, IN_ORDER = 0.3, 60.0
"""Seconds that the program has to end in order: too few for it, or more than enough."""
POLICIES = ROOT / "policies" / "spread.yaml"

PLAN = ("plan",)
AUDIT = ("run", "--once")
ENFORCE = ("run", "--once", "--mode", "Enforce")
SERVICE = ("run", "--every", "1h", "--listen", "127.0.0.1:0")
ACTING_SERVICE = (*SERVICE, "--mode", "Enforce")

GRACE = "from rescheduler.runtime import stopping; stopping.GRACE = {grace}\n"
BUSY = """
import sys
import time
from rescheduler.planning.plan import planner
def busy(*_, **__):
    print("busy", file=sys.stderr, flush=True)
    while True:
        sum(range(10**6))
        time.sleep(0.05)
planner.WorkingCopy = busy
"""


@dataclass
class Place:
    """Where a program is started, and what it says on standard error."""

    folder: Path
    loader: Loader

    def said(self) -> str:
        return (self.folder / "stderr").read_text()


@pytest.fixture(scope="module")
def loaded() -> Iterator[Loader]:
    with loader() as made:
        yield made


@pytest.fixture
def place(loaded: Loader, tmp_path: Path) -> Place:
    return Place(tmp_path, loaded)


@dataclass
class Ended:
    code: int
    seconds: float
    said: str


def run_until(
    reached: Callable[[], bool],
    command: tuple[str, ...],
    place: Place,
    url: str,
    grace: float = CUT_OFF,
    first: str = "",
) -> Ended:
    """Start the program, send SIGTERM once it has come so far, and wait for its end.

    grace: the seconds that it has to end in order. first: what is done before it starts.
    """
    more = ("-p", str(POLICIES), "--kubeconfig", str(kubeconfig(place.folder, url)))
    first += GRACE.format(grace=grace)
    program = place.loader.begin((*command, *more), place.folder, first=first)
    try:
        until = time.monotonic() + 180
        while not reached():
            assert program.poll() is None, place.said()
            assert time.monotonic() < until, place.said()
            time.sleep(0.02)
        began = time.monotonic()
        program.send_signal(signal.SIGTERM)
        code = program.wait(2 * SOON)
        return Ended(code, time.monotonic() - began, place.said())
    finally:
        program.kill()


@contextmanager
def stuck(reply: Reply) -> Iterator[tuple[str, Callable[[], bool]]]:
    """A server that gives this answer to everything; and whether it was asked."""
    with serving(lambda _request: reply) as served:
        yield served.url, lambda: bool(served.requests)
        if reply.hang is not None:
            reply.hang.set()


def silent() -> Reply:
    return Reply(hang=threading.Event())


def dripping() -> Reply:
    return Reply(b"{}" * 5000, drip=0.05)


def while_no_server_answers(
    command: tuple[str, ...], reply: Callable[[], Reply], place: Place
) -> Ended:
    # What only reads may be left at any point, so it needs not be cut off.
    grace = IN_ORDER if command in (PLAN, AUDIT) else CUT_OFF
    with stuck(reply()) as (url, asked):
        return run_until(asked, command, place, url, grace)


def while_it_reads_under_the_lock(command: tuple[str, ...], place: Place) -> Ended:
    with acting_server(Whole()) as server:
        server.hang = HANGS
        server.faults.append(Fault("GET", "/api/v1/pods", "hang", times=1))
        return run_until(asked_for(server, "/api/v1/pods"), command, place, server.url)


def while_it_plans(place: Place) -> Ended:
    with acting_server(Whole()) as server:
        return run_until(
            lambda: "busy" in place.said(),
            ENFORCE,
            place,
            server.url,
            first=BUSY,
        )


def while_it_waits_for_the_lock(place: Place) -> Ended:
    with acting_server(Whole()) as server:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": now}
        server.world.put("leases", "rescheduler", "rescheduler", {"spec": spec})
        ended = run_until(asked_for(server, "/leases"), ENFORCE, place, server.url, IN_ORDER)
        assert server.sent("PUT", "/leases") == []
        return ended


def between_two_cycles(place: Place) -> Ended:
    with acting_server(Whole()) as server:
        ended = run_until(
            lambda: "cycle ends" in place.said(),
            ACTING_SERVICE,
            place,
            server.url,
            IN_ORDER,
        )
        released = server.sent("PUT", "/leases")[-1]
        assert released is not None
        assert "holderIdentity" not in released["spec"]
        return ended


def while_a_renewal_hangs(place: Place) -> Ended:
    with acting_server(Whole()) as server:
        server.hang = HANGS

        def renewing() -> bool:
            if "cycle ends" in place.said() and not server.faults:
                server.faults.append(Fault("PUT", "/leases", "hang", times=9))
            return bool(server.faults) and server.faults[0].times < 9

        return run_until(renewing, ACTING_SERVICE, place, server.url, IN_ORDER)


WHERE: dict[str, Callable[[Place], Ended]] = {
    "renewal": while_a_renewal_hangs,
    "silent plan": partial(while_no_server_answers, PLAN, silent),
    "silent audit": partial(while_no_server_answers, AUDIT, dripping),
    "silent enforce": partial(while_no_server_answers, ENFORCE, silent),
    "silent service": partial(while_no_server_answers, SERVICE, dripping),
    "reading": partial(while_it_reads_under_the_lock, ENFORCE),
    "reading service": partial(while_it_reads_under_the_lock, ACTING_SERVICE),
    "lock": while_it_waits_for_the_lock,
    "between": between_two_cycles,
}


@pytest.mark.parametrize("command", ["plan", "audit", "enforce", "service"])
def test_it_ends_while_a_server_does_not_answer(command: str, place: Place) -> None:
    ended = WHERE[f"silent {command}"](place)
    assert ended.seconds < SOON
    assert "Traceback" not in ended.said
    if command in ("plan", "audit"):  # they may be left at any point, so at once
        assert ended.code == 143
        assert "cut off" not in ended.said


@pytest.mark.parametrize("where", ["reading", "reading service"])
def test_it_is_cut_off_while_it_reads_under_the_lock(where: str, place: Place) -> None:
    ended = WHERE[where](place)
    assert ended.code == 143
    assert ended.seconds < SOON
    assert "this was not done: reading the cluster or its metrics; it was cut off" in ended.said


def test_it_ends_while_it_plans(place: Place) -> None:
    ended = while_it_plans(place)
    assert "this was not done: planning; it was cut off" in ended.said
    assert ended.code == 143
    assert ended.seconds < SOON


@pytest.mark.parametrize(
    "where", ["lock", "between", pytest.param("renewal", marks=pytest.mark.long)]
)
def test_it_ends_in_order_where_nothing_keeps_it(where: str, place: Place) -> None:
    """While it waits for the lock, between two cycles, and while a renewal of the lock hangs."""
    ended = WHERE[where](place)
    assert ended.code == 0
    assert ended.seconds < SOON
    assert "cut off" not in ended.said


def test_both_ways_to_end_are_soon_enough_for_five_seconds() -> None:
    assert stopping.GRACE + stopping.LAST_WORDS < 5
    assert LONGEST_RELEASE < stopping.GRACE - 1, "the rest of an end in order takes time, too"


class Whole(World):
    """A world that also has the lists of a small cluster."""

    def __init__(self) -> None:
        super().__init__(lambda: datetime.now(UTC))
        self.lists = Api({"/api/v1/pods": [pod("web-0", "n1")], "/api/v1/nodes": [node("n1")]})

    def handle(self, method: str, path: str, body: dict[str, Any] | None = None) -> WorldReply:
        if "/leases" in path or "/configmaps" in path or method != "GET":
            return super().handle(method, path, body)
        parts = urlsplit(path)
        query = {key: value[0] for key, value in parse_qs(parts.query).items()}
        found = self.lists(Request(method, parts.path, query, {}))
        return found.status, json.loads(found.body), {}


def asked_for(server: FakeServer, path: str) -> Callable[[], bool]:
    return lambda: any(path in request[1] for request in server.requests)

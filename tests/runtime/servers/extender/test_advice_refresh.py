"""What the extender knows is told again, and forgotten in time, however the reading goes wrong."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rescheduler.model.errors import ReschedulerError
from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.extender import advice_refresh
from rescheduler.runtime.servers.extender.advice_refresh import MOST_AGE, Refreshing
from rescheduler.runtime.servers.extender.extender_answers import LatestAdvice
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop

PERIOD = 60.0
TURN = 0.2
"""Seconds between two looks at whether a reading is done."""
Observed = Future[tuple[Advice, dict[str, str]]]


class Watch(Stop):
    """A clock that only waiting moves; it stops anybody who waits at its end."""

    def __init__(self, end: float) -> None:
        super().__init__()
        self.now = 1000.0
        self.began, self._end = self.now, self.now + end

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        if self.now >= self._end:
            self.request("the test is over")
        return bool(self.reason())


def news(future: Observed) -> None:
    future.set_result((Advice(["n1"], {}, np.zeros((0, 1), dtype=np.uint8)), {"n1": "h1"}))


def fails(future: Observed) -> None:
    future.set_exception(ReschedulerError("no answer"))


def hangs(future: Observed) -> None:
    assert not future.done()


class Pool:
    """In place of a process: each reading goes as the next of these, and then as the last."""

    def __init__(self, *course: Callable[[Observed], None]) -> None:
        self.course = list(course)
        self.ended = 0
        self._processes: dict[int, Any] = {}

    def __call__(self, workers: int, *, mp_context: Any) -> "Pool":
        assert (workers, mp_context.get_start_method()) == (1, "spawn")
        self._processes = {1: SimpleNamespace(terminate=self._end)}
        return self

    def submit(self, _work: Any, settings: Settings) -> Observed:
        assert settings == Settings()
        future: Observed = Future()
        (self.course.pop(0) if len(self.course) > 1 else self.course[0])(future)
        return future

    def shutdown(self, *, wait: bool, cancel_futures: bool) -> None:
        assert not wait
        assert cancel_futures

    def _end(self) -> None:
        self.ended += 1


def told(
    monkeypatch: pytest.MonkeyPatch,
    pool: Pool,
    periods: float,
    on_period: Callable[[], None] = lambda: None,
) -> list[tuple[float, LatestAdvice | None]]:
    """What is told within so many periods, and when: in periods from the beginning."""
    watch, found = Watch(periods * PERIOD), []

    def tell(known: LatestAdvice | None) -> None:
        found.append(((watch.now - watch.began) / PERIOD, known))

    monkeypatch.setattr(advice_refresh, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(advice_refresh, "time", SimpleNamespace(monotonic=lambda: watch.now))
    Refreshing(Settings(), timedelta(seconds=PERIOD), watch, tell, on_period).run()
    return found


def test_news_are_told_every_period(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(news)
    found = told(monkeypatch, pool, 3.5)
    assert [at for at, _ in found] == [0, 1, 2, 3]
    assert all(known is not None and known.hostnames == {"n1": "h1"} for _, known in found)
    assert pool.ended == 4, "each process gives its memory back"


@pytest.mark.parametrize(
    "course",
    [(news, hangs), (news, fails, hangs), (news, fails, fails, hangs)],
    ids=["hangs", "fails-hangs", "fails-fails-hangs"],
)
def test_old_news_are_forgotten_while_a_reading_hangs(
    course: tuple[Callable[[Observed], None], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (at, known), *more = told(monkeypatch, Pool(*course), 12)
    assert known is None
    assert MOST_AGE < at <= MOST_AGE + 2 * TURN / PERIOD
    assert more == [], "once"


def test_old_news_are_forgotten_where_readings_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (at, known), *more = told(monkeypatch, Pool(news, fails), 12)
    assert known is None
    assert MOST_AGE < at <= MOST_AGE + 1 + TURN / PERIOD
    assert more == [], "once"


def test_what_comes_back_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(monkeypatch, Pool(news, hangs, news), 5)
    assert [known is None for _, known in found] == [False, True, False]


def test_one_reading_that_fails_leaves_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(monkeypatch, Pool(news, fails, news), 2.5)
    assert [(at, known is None) for at, known in found] == [(0, False), (2, False)]


def test_without_any_news_there_is_nothing_to_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(hangs)
    assert told(monkeypatch, pool, 12) == []
    assert pool.ended >= 3, "a reading that hangs is ended, and another one begun"


@pytest.mark.parametrize("course", [news, fails])
def test_each_period_has_its_duty_though_the_cluster_cannot_be_read(
    course: Callable[[Observed], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As presenting the certificate: it must not expire because nothing can be read."""
    calls: list[None] = []
    told(monkeypatch, Pool(course), 3.5, lambda: calls.append(None))
    assert len(calls) == 4

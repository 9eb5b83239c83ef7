"""The service runs cycles until it is asked to stop, survives their faults, and takes over."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, timedelta
from itertools import chain, repeat
from typing import Any

import pytest
import structlog
from apscheduler.triggers.interval import IntervalTrigger
from structlog.testing import CapturingLogger

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.lease import Durations, Lease
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.model.errors import ClusterUnavailable, LedgerUnreadable
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, Report, plan_in
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime import stopping
from rescheduler.runtime.cycle import Parts, run_cycle, withheld
from rescheduler.runtime.live_actor import LockAndLedger
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.service import cycles as service_cycles
from rescheduler.runtime.service.service import Service, trigger_of
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from tests.fakes.apiserver import FakeServer, Fault, serving
from tests.runtime.servers.metric_lines import lines as metric_lines
from tests.runtime.skewed import hot, parts, skewed, spread


@pytest.fixture
def stop() -> Iterator[Stop]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    stop = Stop()
    yield stop
    stop.request("the test is over")
    for number, handler in before.items():
        signal.signal(number, handler)


def service(
    stop: Stop,
    made: Parts,
    report: Callable[[Report], None] = lambda _: None,
    state: LockAndLedger | None = None,
) -> Service:
    settings = Settings(every=timedelta(seconds=1))
    trigger = IntervalTrigger(seconds=0.05, timezone=UTC)
    return Service(settings, made, trigger, stop, Telemetry(), report=report, state=state)


def count(running: Service, verdict: str) -> float:
    value = running._telemetry.registry.get_sample_value(
        "rescheduler_cycles_total", {"verdict": verdict}
    )
    assert value is not None
    return value


@pytest.fixture
def outliving(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing ends this process some seconds after a signal."""
    listening: list[socket.socket] = []
    monkeypatch.setattr(stopping, "_watch", listening.append)
    yield
    os.close(signal.set_wakeup_fd(-1))
    for end in listening:
        end.close()


@pytest.mark.usefixtures("outliving")
def test_it_runs_three_cycles_and_stops_on_sigterm(stop: Stop) -> None:
    reports: list[Report] = []

    def report(made: Report) -> None:
        reports.append(made)
        if len(reports) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    stop.on_signals()
    running = service(stop, parts(), report)
    assert running.run() == 0
    assert stop.reason() == "SIGTERM was received"
    plans = [cycle_report for cycle_report in reports if isinstance(cycle_report, Plan)]
    assert len(plans) == len(reports) >= 3
    assert {plan.digest for plan in plans} == {plans[0].digest}
    assert count(running, "good") == len(plans)
    assert running.health.ready() == ""
    assert running.cycles.last is plans[-1]


def test_a_cycle_goes_on_from_the_plan_of_the_one_before_that_ended_early(stop: Stop) -> None:
    searches: list[SearchSummary | None] = []

    def report(made: Report) -> None:
        searches.append(plan_in(made).search)
        if len(searches) == 2:
            stop.request("enough")

    assert service(stop, replace(parts(), effort=lambda: Effort(1)), report).run() == 0
    first, second = searches[:2]
    assert first is not None
    assert second is not None
    assert (first.stopped, first.resumed) == ("steps", None)
    assert second.resumed == pytest.approx(first.gain)
    assert first.gain > 0


def test_a_cluster_that_was_made_anew_is_planned_for_from_nothing(stop: Stop) -> None:
    searches: list[SearchSummary | None] = []
    clusters = chain([Cluster(uid="before")], repeat(Cluster(uid="after")))

    def report(made: Report) -> None:
        searches.append(plan_in(made).search)
        if len(searches) == 2:
            stop.request("enough")

    def observe(*_: Any) -> Snapshot:
        return replace(skewed(), cluster=next(clusters))

    running = service(stop, replace(parts(observe=observe), effort=lambda: Effort(1)), report)
    assert running.run() == 0
    assert [search and search.resumed for search in searches[:2]] == [None, None]
    assert count(running, "failed") == 0


def test_a_failed_cycle_is_reported_and_the_next_one_is_better(stop: Stop) -> None:
    problems: list[str] = []
    faults: list[Exception] = [
        ClusterUnavailable("the API server is down", "wait."),
        ZeroDivisionError("our mistake"),
    ]

    def observe(*_: Any) -> Snapshot:
        problems.append(running.health.ready())
        if faults:
            raise faults.pop(0)
        return skewed()

    running = service(stop, parts(observe=observe), lambda _: stop.request("enough"))
    assert running.run() == 0
    assert problems[:3] == [
        "",
        "the API server is down",
        "ZeroDivisionError: our mistake",
    ]
    assert count(running, "failed") == 2
    page = running.cycles.past.page("/history")
    assert page is not None
    text = page().decode()
    assert "the API server is down" in text
    assert "ZeroDivisionError: our mistake" in text
    assert text.count('<a href="/history/3">') == 1


@pytest.mark.parametrize("code", ["STR005", "STR007", "STR014", "ACT022"])
def test_what_a_person_must_mend_shows_in_the_health_and_in_the_log(
    stop: Stop, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = CapturingLogger()
    logger = structlog.wrap_logger(lines, processors=[], wrapper_class=structlog.BoundLogger)
    monkeypatch.setattr(service_cycles, "logger", lambda: logger)
    note = Problem(code=code, message="node n1 bears a taint of ours, or a right is missing")
    noting = replace(parts(), recall=lambda: (History(), [note]))
    running = service(stop, noting, lambda _: stop.request("enough"))
    assert running.run() == 0
    assert running.health.ready() == note.message
    # Another cycle may begin before the scheduler has stopped, and says the same.
    warnings = [call.kwargs for call in lines.calls if call.method_name == "warning"]
    assert warnings
    assert all(warning == {"event": "not ready", "reason": note.message} for warning in warnings)


def test_the_log_the_history_and_the_metric_say_the_same_cause(
    stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = CapturingLogger()
    logger = structlog.wrap_logger(lines, processors=[], wrapper_class=structlog.BoundLogger)
    monkeypatch.setattr(service_cycles, "logger", lambda: logger)
    why = Problem(code="GRD006", message="Evictions are paused.")

    def paused(made: Parts, *, seed: int) -> Report:
        plan = run_cycle(made, seed=seed)
        assert isinstance(plan, Plan)
        return withheld(plan, why, plan.taken)

    monkeypatch.setattr(service_cycles, "run_cycle", paused)
    running = service(stop, parts(), lambda _: stop.request("enough"))
    running.run()
    ends = [call.kwargs for call in lines.calls if call.kwargs["event"] == "cycle ends"]
    assert {(end["code"], end["message"]) for end in ends} == {(why.code, why.message)}
    row = running.cycles.past.latest
    assert row is not None
    assert (row.code, row.message) == (why.code, why.message)
    assert b'rescheduler_cycle_cause{code="GRD006"} 1.0' in running._telemetry.text()


@pytest.mark.parametrize("unread", [[], [Problem(code="DAT002", message="")]])
def test_it_shows_what_its_limits_have_left_where_that_is_known(
    unread: list[Problem], stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = PastMove(
        plan="p",
        podUid="u",
        namespace="default",
        pod="web-9",
        workload="w",
        controller="c",
        source="n1",
        at=skewed().taken - timedelta(minutes=90),
        state="ready",
    )
    history = History(moves=[moved])

    def ended(made: Parts, *, seed: int) -> Report:
        plan = run_cycle(replace(made, recall=lambda: (History(), [])), seed=seed)
        assert isinstance(plan, Plan)
        return withheld(plan, Problem(code="ACT013", message=""), plan.taken)

    monkeypatch.setattr(service_cycles, "run_cycle", ended)
    with_history = parts(recall=lambda: (history, unread))
    running = service(stop, with_history, lambda _: stop.request("enough"))
    running.run()
    name = 'rescheduler_budget_remaining_moves{limit="%s"}'
    shown = [
        metric_lines(running._telemetry).get(name % limit)
        for limit in ("movesPerDay", "movesPerHour", "movesPerNode")
    ]
    assert shown == ([None] * 3 if unread else [49, 10, None])


def test_a_process_out_of_memory_does_not_go_on(stop: Stop) -> None:
    def observe(*_: Any) -> Snapshot:
        raise MemoryError

    assert service(stop, parts(observe=observe)).run() == 1
    assert stop.reason() == "out of memory"


def test_a_cycle_that_overruns_is_never_run_twice_at_a_time(stop: Stop) -> None:
    inside: list[int] = []
    most: list[int] = []

    def observe(*_: Any) -> Snapshot:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.3)
        inside.pop()
        return skewed()

    running = service(
        stop, parts(observe=observe), lambda _: stop.request("enough") if len(most) > 1 else None
    )
    assert running.run() == 0
    assert max(most) == 1
    assert count(running, "skipped") > 0


def test_the_cycle_in_flight_is_waited_for(stop: Stop) -> None:
    ended: list[str] = []

    def observe(*_: Any) -> Snapshot:
        stop.request("SIGTERM was received")
        time.sleep(1.5)
        ended.append("observed")
        return skewed()

    service(stop, parts(observe=observe), lambda _: ended.append("reported")).run()
    assert ended == ["observed", "reported"]


def test_a_cron_schedule_does_not_begin_at_once() -> None:
    trigger = trigger_of(Settings(cron="0 9 * * mon-fri", time_zone="Europe/Paris"))
    stop = Stop()
    plans: list[Report] = []
    running = Service(
        Settings(cron="0 9 29 2 *"), parts(), trigger, stop, Telemetry(), report=plans.append
    )
    threading.Timer(0.2, lambda: stop.request("enough")).start()
    assert running.run() == 0
    assert plans == []
    assert running.health.ready() == ""


def state_on(server: FakeServer, name: str, stop: Stop) -> LockAndLedger:
    """The real lock and ledger over HTTP, as fast as a Lease's whole seconds allow."""
    clock = ServerClock()
    base = "namespaces/rescheduler"
    client = server.client()
    lease = Lease(
        StoredObject(client, f"/apis/coordination.k8s.io/v1/{base}/leases", "l", clock=clock),
        where="rescheduler/l",
        identity=name,
        now=clock.now,
        durations=Durations(hold=2.0, renew=1.0, retry=0.1, margin=1.0),
        wait=stop.wait,
    )
    store = StoredObject(client, f"/api/v1/{base}/configmaps", "s", clock=clock)
    return LockAndLedger(
        lease, Ledger(store, where="rescheduler/s", marker=lease, clock=clock), clock
    )


def test_a_second_replica_takes_over_when_the_first_one_stops(stop: Stop) -> None:
    first_stop, reported = Stop(), threading.Event()
    ran: list[str] = []

    def first_report(_: Report) -> None:
        ran.append("first")
        reported.set()

    def second_report(_: Report) -> None:
        ran.append("second")
        stop.request("enough")

    with serving() as server:
        first = service(first_stop, parts(), first_report, state_on(server, "first", first_stop))
        second = service(stop, parts(), second_report, state_on(server, "second", stop))
        one = threading.Thread(target=first.run)
        one.start()
        assert reported.wait(10)
        two = threading.Thread(target=second.run)
        two.start()
        time.sleep(0.5)
        assert "second" not in ran, "it stands by while the first one leads"
        assert second.health.ready() == ""
        leading = "rescheduler_leading"
        assert [metric_lines(made._telemetry)[leading] for made in (first, second)] == [1, 0]
        assert second.describe_standing().sentences == (
            "This instance stands by: first holds the lock and runs the cycles.",
        )
        leader = first.describe_standing()
        assert leader.leads
        assert leader.sentences[0].startswith("This instance, first, holds the lock")
        first_stop.request("SIGTERM was received")
        one.join(10)
        two.join(10)
        assert not one.is_alive()
        assert not two.is_alive()
    assert ran[-1] == "second"
    assert ran.index("second") == ran.count("first")


def test_a_standby_that_cannot_ask_for_the_lock_is_not_ready(
    stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def look(seconds: float) -> bool:
        seen.extend([running.health.ready(), *running.describe_standing().sentences])
        return Stop.wait(stop, min(seconds, 0.05))

    monkeypatch.setattr(stop, "wait", look)
    with serving() as server:
        server.faults.append(Fault("GET", "leases", 403))
        running = service(
            stop, parts(), lambda _: stop.request("enough"), state_on(server, "first", stop)
        )
        running.run()
    assert "403" in seen[0]
    assert seen[1] == f"This instance waits for the lock, which cannot be used: {seen[0]}."


def test_with_a_damaged_ledger_it_leads_and_reports(stop: Stop) -> None:
    with serving() as server:
        server.world.put("namespaces", "", "rescheduler", {})
        server.world.put("configmaps", "rescheduler", "s", {"binaryData": {"state": "AAAA"}})
        state = state_on(server, "first", stop)
        reports: list[Report] = []

        def report(made: Report) -> None:
            reports.append(made)
            stop.request("enough")

        service(stop, parts(), report, state).run()
        assert reports
        with pytest.raises(LedgerUnreadable):
            state.ledger.load()


def test_the_lock_is_not_asked_for_in_audit(stop: Stop) -> None:
    assert replace(parts()).actor is None
    running = service(stop, parts(), lambda _: stop.request("enough"))
    assert running._state is None
    assert running.run() == 0


def test_acting_that_broke_off_failed_beside_an_unevaluated_policy() -> None:
    made = run_cycle(parts(lambda: policy_set([spread(), hot()])))
    assert isinstance(made, Plan)
    why = Problem(code="ACT016", message="the API server answered 500 to every eviction")
    assert service_cycles._verdict(withheld(made, why, made.taken)) == "failed"

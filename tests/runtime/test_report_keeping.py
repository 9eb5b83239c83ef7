"""The last report and the last cycles are kept in the cluster, where there is a place for them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from rescheduler.actions import report_store as stores
from rescheduler.model.errors import ActionError
from rescheduler.model.kept_cycles import MOST_CYCLES, CycleRecord, KeptCycles
from rescheduler.model.moves.plan import MoveResult, Outcome, Plan
from rescheduler.model.problem import Problem
from rescheduler.reporting.cause import cause_of
from rescheduler.runtime import single_cycle
from rescheduler.runtime.cycle import Parts
from rescheduler.runtime.ended_cycle import ended_cycle
from rescheduler.runtime.report_keeping import LAST_REPORT, ReportKeeper, report_store
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.service.cycles import ServiceCycles
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.client import Connection
from tests.cluster import NOW
from tests.fakes.apiserver import FakeServer, Fault, serving
from tests.reporting import samples
from tests.runtime.skewed import parts

KEY = ("configmaps", "rescheduler", LAST_REPORT)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as made:
        made.world.put("namespaces", "", "rescheduler", {})
        made.world.put(*KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
        yield made


def keeper(server: FakeServer) -> ReportKeeper:
    return ReportKeeper(report_store(Connection(server.client(), "test")), "pod-a")


def kept(server: FakeServer) -> KeptCycles:
    answer = report_store(Connection(server.client(), "test")).read()
    assert answer is not None
    return answer


@pytest.mark.parametrize("report", [samples.plan(), samples.outcome()])
def test_a_report_is_read_back_as_it_was(server: FakeServer, report: Plan | Outcome) -> None:
    assert kept(server) == KeptCycles()
    keeper(server).keep_report(report, NOW, 3.0)
    answer = kept(server)
    assert answer.report == report
    (record,) = answer.log.records
    assert (record.instance, record.cycle.started) == ("pod-a", NOW)
    assert record.cycle == ended_cycle(report, NOW, 3.0)


def test_the_newest_cycles_are_kept_the_newest_first(server: FakeServer) -> None:
    own = keeper(server)
    own.next_at = lambda: NOW + timedelta(minutes=5)
    for number in range(MOST_CYCLES + 2):
        own.keep_report(samples.plan(), NOW + timedelta(minutes=number), 1.0)
    own.keep_failure("Prometheus did not answer", NOW, 2.0, mode="Enforce")
    answer = kept(server)
    assert len(answer.log.records) == MOST_CYCLES
    first, second = answer.log.records[:2]
    assert (first.cycle.verdict, first.cycle.message) == ("failed", "Prometheus did not answer")
    assert second.cycle.started == NOW + timedelta(minutes=MOST_CYCLES + 1)
    assert first.next == NOW + timedelta(minutes=5)
    assert answer.report == samples.plan(), "a failure leaves the last report there"


def test_a_report_of_who_may_not_act_replaces_no_report(server: FakeServer) -> None:
    keeper(server).keep_report(samples.plan(), NOW, 1.0)
    held = structs.replace(samples.outcome(), verdict=Problem("GRD005", "held by pod-b"))
    keeper(server).keep_report(held, NOW, 1.0)
    answer = kept(server)
    assert len(answer.log.records) == 2
    assert answer.report == samples.plan()


def test_a_report_that_is_too_large_is_left_out_and_said(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper(server).keep_report(samples.plan(), NOW, 1.0)
    monkeypatch.setattr(stores, "MOST_BYTES", 1024)
    keeper(server).keep_report(samples.plan(), NOW, 1.0)
    answer = kept(server)
    assert answer.report is None
    assert "and 1 KiB are kept; `rescheduler plan` shows one" in answer.log.omitted
    assert len(answer.log.records) == 2


def test_where_there_is_no_place_nothing_is_made(server: FakeServer) -> None:
    del server.world.objects[KEY]
    with capture_logs() as logs:
        keeper(server).keep_report(samples.plan(), NOW, 1.0)
    assert KEY not in server.world.objects
    assert [method for method, *_ in server.requests] == ["GET"]
    assert logs == []


def test_what_cannot_be_kept_is_logged_and_harms_no_cycle(server: FakeServer) -> None:
    server.faults.append(Fault("PUT", LAST_REPORT, 403))
    with capture_logs() as logs:
        keeper(server).keep_report(samples.plan(), NOW, 1.0)
    (line,) = logs
    assert line["event"] == "the last report is not kept"
    assert kept(server).log.records == []


def test_another_writer_loses_no_record(server: FakeServer) -> None:
    server.faults.append(Fault("PUT", LAST_REPORT, 409, times=2))
    keeper(server).keep_report(samples.plan(), NOW, 1.0)
    keeper(server).keep_report(samples.outcome(), NOW, 1.0)
    assert len(kept(server).log.records) == 2
    server.faults.append(Fault("PUT", LAST_REPORT, 409, times=3))
    record = CycleRecord(cycle=ended_cycle(samples.plan(), NOW, 1.0), instance="x")
    with pytest.raises(ActionError, match="changed 3 times"):
        report_store(Connection(server.client(), "test")).keep(record, None)


@pytest.mark.parametrize("field", ["cycles", "report"])
def test_what_is_damaged_is_told_and_written_again(server: FakeServer, field: str) -> None:
    keeper(server).keep_report(samples.plan(), NOW, 1.0)
    stored: dict[str, Any] = server.world.objects[KEY]
    kind = "data" if field == "cycles" else "binaryData"
    server.world.put(*KEY, {**stored, kind: {field: "AAAA"}})
    with pytest.raises(ActionError, match="cannot be decoded"):
        kept(server)
    keeper(server).keep_report(samples.plan(), NOW, 1.0)
    assert kept(server).report == samples.plan()


def test_a_cycle_that_fails_is_kept_too(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Parts:
        def observe(*_: Any) -> Any:
            raise ActionError("Prometheus did not answer")

        return parts(observe=observe)

    connection = Connection(server.client(), "test")
    monkeypatch.setattr(single_cycle, "connection_of", lambda _: connection)
    monkeypatch.setattr(single_cycle, "policies_of", lambda _: None)
    monkeypatch.setattr(single_cycle, "parts_of", failing)
    with pytest.raises(ActionError):
        single_cycle.run_once(Settings(once=True))
    assert [record.cycle.message for record in kept(server).log.records] == [
        "Prometheus did not answer"
    ]
    monkeypatch.setattr(single_cycle, "parts_of", lambda *_, **__: parts())
    report, _ = single_cycle.run_once(Settings(once=True))
    assert kept(server).report == report


def cycles_of(server: FakeServer, made: Parts) -> ServiceCycles:
    """Cycles of a service that knows when its next one begins."""
    own = keeper(server)
    own.next_at = lambda: NOW
    return ServiceCycles(
        made,
        Settings(every=timedelta(minutes=5)),
        Telemetry(),
        CycleHealth(timedelta(minutes=5)),
        lambda _: None,
        fatal=lambda _: None,
        keeper=own,
    )


def test_a_service_keeps_each_cycle_and_when_the_next_begins(server: FakeServer) -> None:
    def broken(*_: Any) -> Any:
        raise ActionError("Prometheus did not answer")

    running = cycles_of(server, parts())
    running.run()
    assert kept(server).report == running.last
    cycles_of(server, parts(observe=broken)).run()
    failed, good = kept(server).log.records
    assert (failed.cycle.verdict, failed.cycle.message) == ("failed", "Prometheus did not answer")
    assert failed.next == good.next == NOW


def _refused(outcome: Outcome, code: str) -> Outcome:
    results = [
        MoveResult.from_move(move, "refused", Problem(code, "it has changed"))
        for move in outcome.plan.moves
    ]
    return structs.replace(
        outcome, verdict=Problem("ACT013", "Every move was tried."), moves=tuple(results)
    )


def test_the_cause_names_what_held_the_cycle() -> None:
    outcome = samples.outcome()
    assert cause_of(outcome) is None, "it has evicted"
    down = Problem("ACT016", "Prometheus did not answer")
    untried = structs.replace(_refused(outcome, "ACT010"), verdict=down)
    assert cause_of(untried) == down
    refused = cause_of(_refused(outcome, "DRF001"))
    assert refused is not None
    assert refused.code == "DRF001"
    assert "was made: it has changed" in refused.message
    guard = Problem("GRD001", "5 of 6 nodes are hot")
    assert cause_of(structs.replace(samples.plan(), guards=[guard])) == guard


def test_the_cause_of_a_silence_is_what_the_first_policy_says() -> None:
    plan = samples.no_data()
    problem = Problem("RDG004", "Prometheus did not answer")
    mute = [structs.replace(policy, problem=problem) for policy in plan.policies]
    cause = cause_of(structs.replace(plan, moves=[], policies=mute))
    assert cause is not None
    assert cause.code == "RDG004"
    several = f"None of {len(mute)} policies could be evaluated: Prometheus did not answer"
    assert cause.message == several
    alone = cause_of(structs.replace(plan, moves=[], policies=mute[:1]))
    assert alone is not None
    assert alone.message.startswith(f"Policy {mute[0].name} could not be evaluated: ")


def test_the_cause_of_an_audit_is_its_mode() -> None:
    plan = samples.plan()
    cause = cause_of(plan)
    assert cause is not None
    assert cause.message.endswith("proposed, and the run is in mode Audit.")
    empty = structs.replace(
        plan, moves=[], totals=structs.replace(plan.totals, moves=0, candidates=0, refused={})
    )
    nothing = cause_of(empty)
    assert nothing is not None
    assert nothing.message
